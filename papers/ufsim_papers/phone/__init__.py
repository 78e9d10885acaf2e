"""The papers' questions asked anew on a phone whose host takes time and whose link sleeps."""
