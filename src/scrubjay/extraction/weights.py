"""What each mark of a sentence weighs, in logits. `benchmarks/extraction_fit.py` finds the numbers."""

__all__ = ["BIAS", "WEIGHTS"]

BIAS = -3.611
WEIGHTS = {
    "answers_question": 0.696,
    "aside": 0.469,
    "content": 0.753,
    "content_in_turn": 0.248,
    "family": 0.274,
    "general": -0.310,
    "hedge": 0.101,
    "i": 0.608,
    "names_something": 0.594,
    "nobody": -0.095,
    "own_only": 0.241,
    "own_perfect": 0.358,
    "own_plan": -0.398,
    "own_time": 0.400,
    "own_words_in_turn": 0.064,
    "past": -0.092,
    "reacts": -0.077,
    "short": -0.144,
    "starts_with_own": 0.279,
    "thanks": -0.085,
    "things_of_life": 0.288,
    "time": 0.496,
    "you": -0.253,
}
