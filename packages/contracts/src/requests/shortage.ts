import { Type, type Static } from 'typebox';
import { GpuModel } from '../gpu.ts';
import { Label, MAX_REQUIRED_LABELS } from '../labels.ts';
import { RunnerChoice } from '../runners/runner-kinds.ts';
import { enumInWords } from '../words/in-words.ts';

/** The leading scheduler answers a `ShortageRequest` here. */
export const SHORTAGE_SUBJECT = 'request.scheduler.shortage';

/** What runs of a deployment would require. */
export const ShortageRequest = Type.Object({
  org_id: Type.String({ format: 'uuid' }),
  /** Any one of them. */
  gpus: Type.Array(GpuModel, { minItems: 1 }),
  machine_id: Type.String({ format: 'uuid' }),
  machine_name: Type.String(),
  runner: RunnerChoice,
  labels: Type.Array(Label, { maxItems: MAX_REQUIRED_LABELS }),
});
export type ShortageRequest = Static<typeof ShortageRequest>;

export const ShortageResponse = Type.Object({
  /** Null when a registered executor can take such runs, also one that is draining. */
  shortage: Type.Union([
    enumInWords(
      {
        no_executor: 'No executor is registered.',
        no_gpu: 'No executor has such a GPU.',
        not_served: 'No executor that has one serves the machine.',
        no_runner: 'No executor of these has the runner.',
        no_label: 'No executor of these has all labels.',
      },
      { description: 'Why no executor can take such runs: the last condition that fails.' },
    ),
    Type.Null(),
  ]),
});
export type ShortageResponse = Static<typeof ShortageResponse>;
