"""What each mark of a sentence weighs, in logits. `benchmarks/extraction_fit.py` finds the numbers."""

__all__ = ["BIAS", "WEIGHTS"]

BIAS = -3.600
WEIGHTS = {
    "answers_question": 0.702,
    "aside": 0.458,
    "content": 0.750,
    "content_in_turn": 0.241,
    "family": 0.272,
    "general": -0.303,
    "hedge": 0.126,
    "i": 0.611,
    "names_something": 0.590,
    "nobody": -0.085,
    "own_only": 0.231,
    "own_perfect": 0.356,
    "own_plan": -0.393,
    "own_time": 0.402,
    "own_words_in_turn": 0.070,
    "past": -0.086,
    "reacts": -0.085,
    "short": -0.107,
    "starts_with_own": 0.270,
    "thanks": -0.093,
    "things_of_life": 0.292,
    "time": 0.489,
    "you": -0.251,
}
