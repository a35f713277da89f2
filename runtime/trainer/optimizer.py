"""AdamW as Megatron makes it, with the rates of each step and a check before it.

Invariant: a step that is refused leaves weights and moments as they were.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from assay.core.error import TrainerError
from assay.core.trainer import UpdateSettings
from assay.runtime.trainer import device
from assay.runtime.trainer.mcore import OptimizerConfig, clip_grad_by_total_norm_fp32, get_megatron_optimizer

MOMENTS = ("exp_avg", "exp_avg_sq")


class Optimizer:
    """The optimizer of one rank.

    Biases and norms are not decayed, which is Megatron's rule.

    Args:
        model: Wrapped by Megatron's `DistributedDataParallel`.
        parameters: Weights by Megatron's names.
        beta1: Decay of the first moment.
        beta2: Decay of the second moment.
        epsilon: Added to the root of the second moment.
    """

    def __init__(
        self, model: Any, parameters: Mapping[str, Tensor], *, beta1: float, beta2: float, epsilon: float
    ) -> None:
        self._parameters = parameters
        self._inner = get_megatron_optimizer(
            OptimizerConfig(
                optimizer="adam",
                lr=0.0,
                weight_decay=0.0,
                adam_beta1=beta1,
                adam_beta2=beta2,
                adam_eps=epsilon,
                clip_grad=0.0,
                bf16=model.config.bf16,
                params_dtype=model.config.params_dtype,
            ),
            [model],
            use_gloo_process_groups=False,
        )
        if device.is_cpu():
            # One call for all weights; PyTorch's default here is a Python loop over them.
            for group in self._inner.param_groups:
                group["fused"], group["foreach"] = True, False

    def zero_grad(self) -> None:
        """Drop the gradients of the step before."""
        self._inner.zero_grad()

    def step(self, settings: UpdateSettings, at: str) -> float:
        """Clip and step; returns the gradient's norm before the clip.

        Raises:
            TrainerError: the gradient is not finite.
        """
        self._inner.prepare_grads()
        grad_norm = float(self._inner.get_grad_norm())
        if not math.isfinite(grad_norm):
            raise TrainerError("a gradient must be finite", got=grad_norm, at=at)
        if settings.max_grad_norm > 0.0:
            weights: Any = self._inner.get_parameters()
            clip_grad_by_total_norm_fp32(weights, settings.max_grad_norm, grad_norm)
        for group in self._inner.param_groups:
            group["lr"] = settings.lr * group["lr_mult"]
            group["weight_decay"] = settings.weight_decay * group["wd_mult"]
        self._inner.step_with_ready_grads()
        return grad_norm

    def weights(self) -> dict[str, Tensor]:
        """Return the fp32 weights that are stepped; with bf16 they are other tensors than the model's."""
        return {name: _main(parameter) for name, parameter in self._parameters.items()}

    def reload(self) -> None:
        """Take over weights that were set in the model, and forget moments and step count."""
        self._inner.reload_model_params()
        self.reset()

    def reset(self) -> None:
        """Forget moments and step count."""
        self._state.clear()

    def num_steps(self) -> Tensor | None:
        """Return AdamW's step count; None before the first step."""
        states = list(self._state.values())
        return states[0]["step"].detach().float().cpu().reshape(()) if states else None

    def moments(self) -> Iterator[tuple[str, dict[str, Tensor]]]:
        """Yield the name of each moment and its tensors by parameter; nothing before the first step."""
        if self._state:
            for moment in MOMENTS:
                yield moment, {name: self._state[weight][moment] for name, weight in self.weights().items()}

    def restore(self, num_steps: Tensor, moments: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Set step count and moments by parameter."""
        for name, weight in self.weights().items():
            state = {moment: tensors[name].float().to(weight.device) for moment, tensors in moments.items()}
            # AdamW keeps its step count on the host unless it is fused.
            is_fused = self._inner.param_groups[0].get("fused")
            state["step"] = num_steps.clone().to(weight.device if is_fused else torch.device("cpu"))
            self._state[weight] = {key: value.contiguous() for key, value in state.items()}

    @property
    def _state(self) -> Any:
        return self._inner.optimizer.state


def _main(parameter: Tensor) -> Tensor:
    main: Tensor = getattr(parameter, "main_param", parameter)
    return main
