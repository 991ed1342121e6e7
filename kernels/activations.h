// kernels holds the interface of a device: its operations (listed once in operations.inc), the views that
// they take, random numbers, threads, and the registry. lib includes what is directly here; it knows no model
// and no file.
//
// The activations of feed-forward layers and heads as inline host and device code.
//
// gelu (Hendrycks and Gimpel 2016) in its two forms: the tanh form ("gelu_new", docs/specification.md 2.1) is
// x/2 (1 + tanh(u)) = x sigmoid(2u) with u = sqrt(2/pi) (x + 0.044715 x^3): the second way needs only one
// exp. The erf form is x times the normal distribution function. relu is max(x, 0), with derivative 0 at 0;
// silu (Elfwing et al. 2017, "swish") is x sigmoid(x).
#pragma once

#include <math.h>

#include "kernels/philox.h"  // BIGBIRD_HOST_DEVICE
#include "kernels/types.h"

namespace bigbird::kernels {

inline constexpr float gelu_slope = 0.7978845608028654f;  // sqrt(2 / pi)
inline constexpr float gelu_cubic = 0.044715f;

BIGBIRD_HOST_DEVICE inline float gelu(float x) {
  const float twice_u = 2.0f * gelu_slope * (x + gelu_cubic * x * x * x);
  return x / (1.0f + expf(-twice_u));
}

BIGBIRD_HOST_DEVICE inline float gelu_derivative(float x) {
  const float twice_u = 2.0f * gelu_slope * (x + gelu_cubic * x * x * x);
  const float gate = 1.0f / (1.0f + expf(-twice_u));
  const float twice_slope = 2.0f * gelu_slope * (1.0f + 3.0f * gelu_cubic * x * x);
  return gate + x * gate * (1.0f - gate) * twice_slope;
}

inline constexpr float sqrt_half = 0.7071067811865475f;
inline constexpr float normal_density_at_zero = 0.3989422804014327f;  // 1 / sqrt(2 pi)

BIGBIRD_HOST_DEVICE inline float gelu_erf(float x) {
  return 0.5f * x * erfcf(-x * sqrt_half);
}

BIGBIRD_HOST_DEVICE inline float gelu_erf_derivative(float x) {
  return 0.5f * erfcf(-x * sqrt_half) + x * normal_density_at_zero * expf(-0.5f * x * x);
}

// Written so that a NaN stays one.
BIGBIRD_HOST_DEVICE inline float relu(float x) {
  return x < 0.0f ? 0.0f : x;
}

BIGBIRD_HOST_DEVICE inline float relu_derivative(float x) {
  return x > 0.0f ? 1.0f : x <= 0.0f ? 0.0f : x;
}

BIGBIRD_HOST_DEVICE inline float silu(float x) {
  return x / (1.0f + expf(-x));
}

BIGBIRD_HOST_DEVICE inline float silu_derivative(float x) {
  const float gate = 1.0f / (1.0f + expf(-x));
  return gate + x * gate * (1.0f - gate);
}

BIGBIRD_HOST_DEVICE inline float activate(Activation activation, float x) {
  switch (activation) {
    case Activation::gelu_erf:
      return gelu_erf(x);
    case Activation::relu:
      return relu(x);
    case Activation::silu:
      return silu(x);
    case Activation::gelu_tanh:
      break;
  }
  return gelu(x);
}

BIGBIRD_HOST_DEVICE inline float activation_derivative(Activation activation, float x) {
  switch (activation) {
    case Activation::gelu_erf:
      return gelu_erf_derivative(x);
    case Activation::relu:
      return relu_derivative(x);
    case Activation::silu:
      return silu_derivative(x);
    case Activation::gelu_tanh:
      break;
  }
  return gelu_derivative(x);
}

}  // namespace bigbird::kernels
