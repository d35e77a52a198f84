import gymnasium as gym

from scpo_envs.text import Text


class Guess(gym.Env):
    success_reward, game_ids = 1.0, tuple("123456789")

    def __init__(self):
        self.observation_space, self.action_space, self.state = Text(), Text(), None

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        game = (options or {}).get("game") or self.game_ids[self.np_random.integers(9)]
        if game not in self.game_ids:
            raise LookupError(f"no game {game!r}; there are {self.game_ids}")
        return self.tell(game, "I think of a number from 1 to 9.")

    def step(self, action):
        if self.state is None or self.state[1]["won"]:
            raise gym.error.ResetNeeded("call reset() first")
        if not isinstance(action, str):
            raise TypeError(f"an action is text, not {type(action).__name__}")
        game, known = self.state[1]["game"], action in self.game_ids
        text = "No." if not known else "Yes!" if action == game else "Higher." if action < game else "Lower."
        text, info = self.tell(game, text, action == game, None if known else f"{action[:80]!r} is none of 1 to 9")
        return text, float(info["won"]), info["won"], False, info

    def tell(self, game, text, won=False, reason=None):
        info = {"task": "guess the number.", "task_id": game, "task_type": "guess", "game": game, "won": won}
        info |= {"admissible_commands": self.game_ids, "valid_action": reason is None, "invalid_reason": reason}
        return self.restore(((text, info), self.np_random.bit_generator.state))

    def snapshot(self):
        return self.state, self.np_random.bit_generator.state

    def restore(self, snapshot):
        self.state, self.np_random.bit_generator.state = snapshot
        return self.state[0], dict(self.state[1])
