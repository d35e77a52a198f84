"""Group reinforcement learning with step credit, top to bottom.

    play groups of siblings -> credit and advantages -> clipped policy gradient -> again

How this differs from SCPO as published (arXiv 2606.25852), whose code is not public, and from GiGPO's
(arXiv 2505.10978):

1. What is unknown of SCPO is filled in by the documented options of `scpo_envs.credit.scpo`; the default matcher
   compares words where the paper has a cross-encoder.
2. No KL penalty and no reference model by default; the bounds of the clip may differ.
3. Minibatches are of decisions, whose weights say what counts once: a decision, a token or a rollout.
4. The paper's agents write text, as the bundled language model does unless it is told to choose; the bundled
   scorer always chooses among the admissible commands.

Everything random is a function of the run's seed and the number of the iteration, so a run that is resumed goes
on exactly as it would have.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from scpo_agents.agent import Agent, agent_kind
from scpo_agents.batches import derived_seed, minibatches, rollout_numbers
from scpo_agents.checkpoint import load_state, load_weights, save_checkpoint
from scpo_agents.clone import learn_from_demonstrations
from scpo_agents.config import TrainConfig
from scpo_agents.display import Display
from scpo_agents.environments import arguments_for, games_of
from scpo_agents.evaluate import Result, play_games, spread, summarise
from scpo_agents.interrupt import Interrupt
from scpo_agents.logs import ROLLOUTS, Logs, judged_groups
from scpo_agents.loss import decision_weights, policy_loss
from scpo_agents.matchers import make_matcher
from scpo_agents.metrics import Clock, Tally, TimedPolicy, count_advantages, count_groups
from scpo_agents.processes import Processes
from scpo_agents.recipe import agent_settings
from scpo_envs.credit import Advantages, advantages, with_rewards
from scpo_envs.credit.estimators.registry import find_estimator
from scpo_envs.policies import collect
from scpo_envs.rollouts import Rollout, RolloutGroup, Step, write_groups
from scpo_envs.vector import GroupVectorEnv

_PLAY, _DEAL, _GAMES, _EVALUATE = range(2, 6)  # purposes of derived seeds; cloning has 0 and 1


@dataclass
class Progress:
    """How far a run has come, which is all that a checkpoint keeps beside weights and the optimiser.

    Attributes:
        iteration: Iterations done.
        env_steps: Environment steps played in them, over all processes.
        best: The best evaluation so far, mean success over the splits; None before the first.
        best_iteration: When it was.
    """

    iteration: int = 0
    env_steps: int = 0
    best: float | None = None
    best_iteration: int = 0


@dataclass
class Played:
    """What an iteration has played: groups, and what their steps were decided from.

    Attributes:
        groups: The groups of this process that are learned from.
        decisions: The agent's, `[group][rollout][step]`.
        steps: Environment steps taken, those of groups that were left out included.
    """

    groups: list[RolloutGroup] = field(default_factory=list)
    decisions: list[list[list[Any]]] = field(default_factory=list)
    steps: int = 0


class Trainer:
    """One training run.

    Args:
        config: Its settings.
        processes: Those that share it.
        display: Shows what happens.
    """

    def __init__(self, config: TrainConfig, processes: Processes, display: Display) -> None:
        torch.set_num_threads(config.threads)
        self.config, self.processes, self.display = config, processes, display
        self.agent: Agent[Any] = agent_kind(config.agent.name).make(agent_settings(config), seed=config.seed)
        self.parameters = [one for one in self.agent.module.parameters() if one.requires_grad]
        self.optimiser = torch.optim.Adam(self.parameters, lr=config.update.lr)
        self.matcher = make_matcher(config.advantage.matcher, config.advantage.matcher_options)
        self.progress = Progress()
        self.reference: Agent[Any] | None = None
        self.clock = Clock()
        self._open = ExitStack()
        self._games = games_of(config.env.id, config.env.split, config.env.arguments)
        self._venv = self._make_venv()

    def run(self, *, resume: bool = False) -> bool:
        """Train to the end, or until the first Ctrl-C, which lets the iteration finish.

        Args:
            resume: Go on from the run's last checkpoint.

        Returns:
            Whether the run came to its end.
        """
        config, out = self.config, self.config.out
        with self._open, self.display, Interrupt(self.display.note) as interrupt:
            if resume:
                self._restore()
            else:
                self._start()
            logs = self._open.enter_context(Logs(out, self.progress.iteration, active=self.processes.first))
            if config.update.kl:
                self.reference = self._first_agent()
            if not resume:
                self._evaluate(logs)
            while not self._done():
                self.clock = Clock()
                measured = self._iterate()
                logs.write(measured)
                self.display.iteration(measured)
                if self._is_due(config.evaluate.every) or self._done():
                    self._evaluate(logs)
                # every process must take the same decision
                stopped = any(self.processes.gather(interrupt.asked))
                if self._is_due(config.save_every) or self._done() or stopped:
                    self._save("last")
                if stopped:
                    return self._done()
        return True

    # One iteration

    def _iterate(self) -> dict[str, float]:
        """Play, judge, learn; returns what was measured, over all processes."""
        progress, tally = self.progress, Tally()
        played = self._play(tally)
        with self.clock.phase("credit"):
            judged = self._judge(played.groups)
        count_advantages(tally, played.groups, judged)
        self._keep(played.groups, judged)
        self._update(played, judged, tally)
        progress.env_steps += sum(self.processes.gather(played.steps))
        progress.iteration += 1
        measured = tally.merged(self.processes.gather(tally.sums()))
        return {"iteration": progress.iteration, "env_steps": progress.env_steps, **measured, **self._timings(played)}

    def _play(self, tally: Tally) -> Played:
        """Play this iteration's groups; see `GroupsConfig.one_outcome` for what is kept of them."""
        own, played = self.config.groups, Played()
        share = len(self.processes.share(own.tasks))
        rounds = 1 + (own.resample_rounds if own.one_outcome == "resample" else 0)
        player = self.agent.player(seed=derived_seed(self.config.seed, _PLAY, self.progress.iteration))
        for turn in range(rounds):
            groups, decisions = self._play_round(player, turn)
            count_groups(tally, groups)
            played.steps += sum(len(rollout) for group in groups for rollout in group.rollouts)
            for group, own_decisions in zip(groups, decisions, strict=True):
                if len(played.groups) < share and (own.one_outcome == "keep" or 0 < len(group.successes) < len(group)):
                    played.groups.append(group)
                    played.decisions.append(own_decisions)
            if len(played.groups) == share:
                break
        for name, (total, number) in player.measures.items():
            tally.add(name, total, number)
        return played

    def _play_round(self, player: Any, turn: int) -> tuple[list[RolloutGroup], list[list[list[Any]]]]:
        """Let a player play one episode of every group at once."""
        own, iteration = self.config.groups, self.progress.iteration
        share = self.processes.share(own.tasks)
        games = self._draw_games(iteration, turn)
        with self.clock.phase("env"):
            groups = list(
                collect(
                    self._venv,
                    TimedPolicy(player, self.clock),
                    groups=len(share),
                    seed=derived_seed(self.config.seed, _PLAY, iteration, turn) + share.start,
                    options={"games": [games[index] for index in share]},
                )
            )
        decisions = [
            [player.decisions[index * own.siblings + sibling] for sibling in range(own.siblings)]
            for index in range(len(groups))
        ]
        return groups, decisions

    def _judge(self, groups: Sequence[RolloutGroup]) -> Advantages:
        """Advantages of this process's groups."""
        own = self.config.advantage
        groups = [with_rewards(group, own.reward, own.invalid_penalty) for group in groups]
        if find_estimator(own.estimator).siblings or self.processes.count == 1:
            every, before = list(groups), 0
        else:  # an estimator that compares groups with each other has to see all of them
            parts = self.processes.gather([_bare(group) for group in groups])
            every = [group for part in parts for group in part]
            before = sum(len(part) for part in parts[: self.processes.rank])
        judged = advantages(
            every,
            own.estimator,
            omega=own.omega,
            gamma=own.gamma,
            alpha=own.alpha,
            matcher=self.matcher,
            **own.options,
        )
        mine = slice(before, before + len(groups))
        credit = None if judged.credit is None else judged.credit[mine]
        return Advantages(judged.total[mine], judged.episode[mine], judged.step[mine], credit)

    def _keep(self, groups: Sequence[RolloutGroup], judged: Advantages) -> None:
        """Write this iteration's groups, those of all processes, if it is one whose groups are kept."""
        every, iteration = self.config.rollouts, self.progress.iteration + 1
        if not every or iteration % every:
            return
        parts = self.processes.gather(judged_groups(groups, judged, self.config.advantage.alpha))
        if self.processes.first:
            path = self.config.out / ROLLOUTS / f"{iteration:06}.jsonl"
            write_groups(path, (group for part in parts for group in part))

    def _update(self, played: Played, judged: Advantages, tally: Tally) -> None:
        """Follow the advantages, minibatch by minibatch."""
        own = self.config.update
        rollouts = [rollout for group in played.decisions for rollout in group]
        decisions = [one for rollout in rollouts for one in rollout]
        gains = np.array([gain for group in judged.total for rollout in group for gain in rollout], dtype=np.float64)
        if len(gains) != len(decisions):
            raise RuntimeError(f"{len(decisions)} decisions were made, but {len(gains)} steps were judged")
        lengths = np.array([len(rollout) for rollout in rollouts for _ in rollout])
        numbers = rollout_numbers(rollouts) if own.shuffle == "rollouts" else None
        tokens = np.array([len(one.log_probs) for one in decisions])
        weights = decision_weights(own.average, lengths, tokens)
        for epoch in range(own.epochs):
            seed = derived_seed(self.config.seed, _DEAL, self.progress.iteration, epoch)
            dealt = minibatches(weights, own.minibatch, seed=seed, processes=self.processes, rollouts=numbers)
            for members, shares in dealt:
                self.optimiser.zero_grad()
                for start in range(0, len(members), own.micro_batch):
                    part = slice(start, start + own.micro_batch)
                    chosen = [decisions[index] for index in members[part]]
                    self._backward(chosen, gains[members[part]], shares[part], tally)
                with self.clock.phase("update"):
                    self.processes.add_gradients(self.parameters)
                    norm = float(torch.nn.utils.clip_grad_norm_(self.parameters, own.max_grad_norm))
                    self.optimiser.step()
                tally.add("update/grad_norm", norm)

    def _backward(
        self, decisions: Sequence[Any], gains: np.ndarray[Any, Any], shares: np.ndarray[Any, Any], tally: Tally
    ) -> None:
        """Add the gradient of a part of a minibatch."""
        own = self.config.update
        with self.clock.phase("update"):
            scores = self.agent.score(decisions)
            device = scores.log_probs.device
            reference = None
            if self.reference is not None:
                with torch.no_grad():
                    reference = self.reference.score(decisions).log_probs
            loss = policy_loss(
                scores,
                torch.as_tensor(np.concatenate([one.log_probs for one in decisions]), device=device),
                torch.as_tensor(gains, dtype=torch.float32, device=device),
                torch.as_tensor(shares, dtype=torch.float32, device=device),
                clip=own.clip,
                clip_high=own.clip_high,
                entropy=own.entropy,
                kl=own.kl,
                reference=reference,
            )
            loss.total.backward()
        # weighted by decisions, so that a small last minibatch counts for less
        share = len(decisions) / float(shares.sum())
        for name, value in loss.terms.items():
            tally.add(f"update/{name}", value * share, len(decisions))

    # Beginning, evaluating, saving

    def _start(self) -> None:
        """Weights to begin with: those of a checkpoint, cloned, or new."""
        config = self.config
        if config.start is not None:
            load_weights(config.start, self.agent)
        elif config.clone.episodes or config.clone.rollouts:
            learn_from_demonstrations(self.agent, config, self.processes, self.display)
        if self.processes.first:
            save_checkpoint(config.out / "start", self.agent, config)
        self.processes.wait()

    def _restore(self) -> None:
        folder = self.config.out / "last"
        load_weights(folder, self.agent)
        state = load_state(folder)
        self.optimiser.load_state_dict(state["optimiser"])
        for group in self.optimiser.param_groups:
            group["lr"] = self.config.update.lr
        self.progress = Progress(**state["progress"])

    def _first_agent(self) -> Agent[Any]:
        """The agent that training began with, frozen."""
        first = agent_kind(self.config.agent.name).make(agent_settings(self.config), seed=self.config.seed)
        load_weights(self.config.out / "start", first)
        return first.reference()

    def _evaluate(self, logs: Logs) -> None:
        """Play the evaluation games, and keep the weights if they are the best so far."""
        own, progress = self.config.evaluate, self.progress
        if not own.every:
            return
        measured: dict[str, float] = {"iteration": progress.iteration, "env_steps": progress.env_steps}
        with self.clock.phase("evaluate"), self.display.busy("evaluating"):
            for split in own.splits:
                for kind, summary in summarise(self._play_split(split)).items():
                    measured[f"eval/{split}/success" + ("" if kind == "all" else f"/{kind}")] = summary.success
                    if kind == "all":
                        measured |= {f"eval/{split}/score": summary.score, f"eval/{split}/steps": summary.steps}
        logs.write(measured)
        self.display.evaluation(measured)
        mean = float(np.mean([measured[f"eval/{split}/success"] for split in own.splits]))
        if progress.best is None or mean > progress.best:
            progress.best, progress.best_iteration = mean, progress.iteration
            self._save("best")

    def _play_split(self, split: str) -> list[Result]:
        """Results in a split's evaluation games, shared out over the processes."""
        config = self.config
        env = config.env
        games = spread(tuple(games_of(env.id, split, env.arguments)), config.evaluate.games)
        player = self.agent.player(seed=derived_seed(config.seed, _EVALUATE), greedy=config.evaluate.greedy)
        own = [games[index] for index in self.processes.share(len(games))]
        results = list(play_games(player, env.id, own, split=split, arguments=env.arguments))
        return [result for part in self.processes.gather(results) for result in part]

    def _save(self, name: str) -> None:
        with self.clock.phase("save"):
            if self.processes.first:
                state = {"optimiser": self.optimiser.state_dict(), "progress": vars(self.progress)}
                save_checkpoint(self.config.out / name, self.agent, self.config, state if name == "last" else None)
            self.processes.wait()

    # Odds and ends

    def _make_venv(self) -> GroupVectorEnv:
        """The environments of this process's groups."""
        config = self.config
        own, env = config.groups, config.env
        share = len(self.processes.share(own.tasks))
        if not share:
            raise ValueError(f"groups.tasks={own.tasks} is too few for {self.processes.count} processes")
        if own.tasks > len(self._games):
            raise ValueError(f"groups.tasks={own.tasks} is more than the {len(self._games)} games of {env.split!r}")
        arguments = arguments_for(env.id, env.split, env.arguments)
        if own.max_steps is not None:
            arguments["max_episode_steps"] = own.max_steps
        venv = gym.make_vec(
            env.id,
            num_envs=share * own.siblings,
            group_size=own.siblings,
            workers=env.workers,
            on_worker_loss="restart",
            **arguments,
        )
        self._open.callback(venv.close)
        if not isinstance(venv, GroupVectorEnv):
            raise TypeError(f"{env.id} must make a GroupVectorEnv, not {venv}")
        return venv

    def _draw_games(self, iteration: int, turn: int) -> list[str]:
        """This iteration's games, different ones, the same in every process."""
        own = self.config.groups
        rng = np.random.default_rng(derived_seed(self.config.seed, _GAMES, iteration, turn))
        ids = list(self._games)
        shuffled = [ids[index] for index in rng.permutation(len(ids))]
        if own.balanced:  # the first of each kind, then the second of each, and so on; kinds in random order
            ranks = {kind: count(int(rng.integers(2**32)) / 2**32) for kind in sorted(set(self._games.values()))}
            shuffled.sort(key={id: next(ranks[self._games[id]]) for id in shuffled}.__getitem__)
        return shuffled[: own.tasks]

    def _done(self) -> bool:
        own, progress = self.config.update, self.progress
        enough = own.env_steps is not None and progress.env_steps >= own.env_steps
        return enough or progress.iteration >= own.iterations

    def _is_due(self, every: int) -> bool:
        return bool(every) and self.progress.iteration % every == 0

    def _timings(self, played: Played) -> dict[str, float]:
        """Seconds by phase of the iteration that has just ended, and steps a second."""
        total, seconds = self.clock.total(), self.clock.seconds
        timed = {f"time/{phase}": seconds[phase] for phase in ("act", "env", "credit", "update")}
        other = total - sum(timed.values())
        return {**timed, "time/other": other, "time/total": total, "time/steps_per_second": played.steps / total}


def _bare(group: RolloutGroup) -> RolloutGroup:
    """A group without infos, light enough to travel."""
    rollouts = [
        Rollout([Step(step.observation, step.action, step.reward) for step in one.steps], one.won, one.truncated)
        for one in group.rollouts
    ]
    return RolloutGroup(group.task, rollouts, group.success_reward, group.instruction)
