import { Type, type Static } from 'typebox';
import { GpuModel } from '../../gpu.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { Uuid } from '../fields/values.ts';
import { optional } from '../fields/optional.ts';

/** One value of `inputs`. */
const InputValue = Type.Unsafe<JsonValue>(
  Type.Union([Type.String(), Type.Integer(), Type.Number(), Type.Boolean(), Type.Array(Type.Unknown())], {
    'x-refusal': {
      type: 'string_type',
      msg: 'Input should be a valid string, integer, number, boolean or array',
    },
  }),
);

export const Inputs = Type.Unsafe<JsonObject>(
  Type.Object(
    {},
    {
      additionalProperties: InputValue,
      description:
        'By name. Names that the workflow does not know are passed on. As a rule at most 256 inputs, with names of 256 characters, 32 levels deep, and together 256 KiB as JSON. An integer that a double would round to another one (beyond 2^53) is refused and not changed: send it as a string.',
    },
  ),
);

export const DeploymentRunRequest = Type.Object(
  {
    deployment_id: Type.String({ format: 'uuid', description: 'The deployment to run.' }),
    inputs: optional(Inputs),
    webhook: optional(
      Type.String({
        format: 'webhook-url',
        description:
          'An absolute http or https URL that gets the final notification of the run, as a rule at most 2,048 characters. Whether it may be reached is checked here and before each try.',
      }),
    ),
    webhook_intermediate_status: optional(
      Type.Boolean({
        description: 'Whether the webhook also gets status on the way, at most once a second.',
      }),
    ),
    gpu: optional(GpuModel),
  },
  { title: 'DeploymentRunRequest' },
);
export type DeploymentRunRequest = Static<typeof DeploymentRunRequest>;

export const CreateRunResponse = Type.Object(
  { run_id: Uuid },
  { title: 'CreateRunResponse', description: 'Read the run with it, or cancel it.' },
);

export const IdempotencyKey = Type.String({
  pattern: '^[\\x20-\\x7e]{1,255}$',
  'x-refusal': {
    type: 'string_pattern_mismatch',
    msg: 'An idempotency key has 1 to 255 printable ASCII characters',
  },
  description:
    '1 to 255 printable characters. The same key of the same organisation gives the same run, for as long as the run is kept: a request whose answer was lost may be sent again. With another body it is refused with 409.',
});
