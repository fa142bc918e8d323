"""Rule matchers, their combinators and triggers: turns -> a result with evidence."""
