import { Type, type Static } from 'typebox';
import { ConcurrencyKey, Priority, MAX_TAGS, Tag, TAG_RULE } from '../../run-options.ts';
import type { GpuModel } from '../../gpu.ts';
import type { JsonObject, JsonValue } from '../../json.ts';
import { Exact, optional } from '../../schemas.ts';
import { MAX_DEADLINE_S } from '../../limits.ts';
import { DeploymentName, DeploymentUuid, EXAMPLE_IDS, RunUuid, TimeWithOffset } from '../fields.ts';

/** Those of the sample: what else it needs has a default. Other workflows get them and ignore them. */
const EXAMPLE_INPUTS = { size: 512, palette: 'ember' };

/** One value of `inputs`. */
const InputValue = Type.Unsafe<JsonValue>(
  Type.Union(
    [Type.String(), Type.Integer(), Type.Number(), Type.Boolean(), Type.Array(Type.Unknown()), Exact],
    {
      description: 'The value of an input.',
      examples: [EXAMPLE_INPUTS.size],
      'x-refusal': {
        type: 'string_type',
        msg: 'Send a text, a number, true, false or a list',
      },
    },
  ),
);

export const Inputs = Type.Unsafe<JsonObject>(
  Type.Object(
    {},
    {
      additionalProperties: InputValue,
      examples: [EXAMPLE_INPUTS],
      description:
        'Values by input name, as the version of the deployment defines them: they have the type and the bounds of their definition, and those left out get its default. Names without a definition are passed to the workflow, with a warning, unless `strict_inputs` refuses them. By default at most 256 inputs, names of 256 characters, 32 levels of nesting, and 256 KiB as JSON in total, with the defaults. Numbers are passed on as they are written, and an input of type integer or number also takes a string of digits.',
    },
  ),
);

/** The closed list of the run API, section 2.2. */
const REQUESTABLE_GPUS = [
  'T4',
  'L4',
  'A10G',
  'L40S',
  'A100',
  'A100-80GB',
  'H100',
] as const satisfies readonly GpuModel[];

export const DeploymentRunRequest = Type.Object(
  {
    deployment_id: optional({
      ...DeploymentUuid,
      description: 'The deployment to run. It is required, unless `deployment` names one.',
    }),
    deployment: optional(DeploymentName),
    inputs: optional(Inputs),
    webhook: optional(
      Type.String({
        format: 'webhook-url',
        examples: ['https://hooks.example.com/runs'],
        description:
          'An absolute http or https URL that receives the final notification of the run; by default at most 2,048 characters, of which those outside ASCII count as 2 to 4. The webhook policy is checked here and before each attempt.',
      }),
    ),
    webhook_intermediate_status: optional(
      Type.Boolean({
        description: 'Whether the webhook also receives intermediate status, at most once a second.',
        examples: [false],
      }),
    ),
    strict_inputs: optional(
      Type.Boolean({
        default: false,
        examples: [true],
        description:
          'Whether names in `inputs` that the version does not define are refused with 422, also where the deployment does not say so. Otherwise they are passed to the workflow, and the header `Runledger-Warning` names them. A version that defines no inputs takes every name.',
      }),
    ),
    gpu: optional(
      Type.Enum([...REQUESTABLE_GPUS], {
        examples: ['A10G'],
        description:
          "The GPU model, instead of the deployment's or the machine's. These models only: for another one, make a deployment on it.",
      }),
    ),
    priority: optional({
      ...Priority,
      default: 0,
      description:
        'A head start of a minute for each step: the run starts before those of its deployment that have a lower priority and were queued less than so many minutes before it. So no run waits for ever. The runs of other deployments are not concerned. The `bounds` of the deployment may allow fewer steps.',
    }),
    run_timeout_s: optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: MAX_DEADLINE_S,
        description:
          'Seconds that an attempt may execute: at most those of the deployment, which are the default.',
        examples: [600],
      }),
    ),
    start_deadline_s: optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: MAX_DEADLINE_S,
        description:
          'Seconds that the run may wait until it begins to execute: at most those of the deployment, which are the default.',
        examples: [600],
      }),
    ),
    delay_s: optional(
      Type.Number({
        minimum: 0,
        maximum: MAX_DEADLINE_S,
        examples: [60],
        description:
          'Seconds before which the run does not start, from when it is queued. It is queued at once, and cancelled at once if need be; its start deadline counts from the time when it may start. With its deadline, its timeout and its notification it has to fit into the time for which the log keeps events; a refusal says how long that is. A rerun does not repeat it.',
      }),
    ),
    start_at: optional({
      ...TimeWithOffset,
      description:
        "Instead of `delay_s`: the time before which the run does not start, by the broker's clock. A past one delays nothing.",
    }),
    concurrency_key: optional({
      ...ConcurrencyKey,
      'x-refusal': {
        type: 'string_pattern_mismatch',
        msg: 'A concurrency key has 1 to 64 printable ASCII characters',
      },
      description:
        '1 to 64 printable characters, such as the id of a user or a document. Of the runs of the deployment with the same key one executes at a time; the others wait, and let runs with other keys go first. It is stored and shown as it is, so it must not be a secret.',
    }),
    tags: optional(
      Type.Array(
        { ...Tag, 'x-refusal': { type: 'string_pattern_mismatch', msg: TAG_RULE } },
        {
          maxItems: MAX_TAGS,
          examples: [['customer:17']],
          description:
            'Your own words for the run, such as `customer:17`: lists and requests about many runs select by them. At most 16 of 1 to 64 letters, digits and characters of `_ - . : /`. Their order does not count. A rerun has them too. They are stored and shown as they are, so they must not be secret.',
        },
      ),
    ),
  },
  {
    title: 'DeploymentRunRequest',
    description: 'Which deployment is to run, with which inputs.',
    examples: [{ deployment_id: EXAMPLE_IDS.deployment_id, inputs: EXAMPLE_INPUTS }],
  },
);
export type DeploymentRunRequest = Static<typeof DeploymentRunRequest>;

export const CreateRunResponse = Type.Object(
  { run_id: { ...RunUuid, description: 'The id of the new run, in all other operations.' } },
  { title: 'CreateRunResponse', description: 'Identifies the run in all other operations.' },
);

export const IdempotencyKey = Type.String({
  examples: ['order-4711'],
  pattern: '^[\\x20-\\x7e]{1,255}$',
  'x-refusal': {
    type: 'string_pattern_mismatch',
    msg: 'An idempotency key has 1 to 255 printable ASCII characters',
  },
  description:
    '1 to 255 printable characters. The same key of the same organisation gives the same run while that run is kept, so a request whose response was lost can be repeated. With another body the request is refused with 409.',
});
