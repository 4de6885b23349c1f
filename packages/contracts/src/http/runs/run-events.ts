import { Type, type Static } from 'typebox';
import { RUN_EVENT_TYPES } from '../../events/run-event.ts';
import { Time } from '../fields/values.ts';
import { nullable } from '../fields/optional.ts';
import { WorkflowRun } from './run.ts';

const { status, live_status, progress, finished, end_reason, outputs } = WorkflowRun.properties;

const Attempt = Type.Integer({
  minimum: 0,
  description: 'The execution attempt that it speaks of, the first is 1; 0 when it speaks of none.',
});

/** `event: fact` of a stream; its `id` is `sequence`. What the run was once this had happened. */
export const RunFactEvent = Type.Object(
  {
    sequence: Type.Integer({
      minimum: 0,
      description: 'The place of the fact in the log. Send the last one as Last-Event-ID to go on behind it.',
    }),
    type: nullable(
      Type.String({
        description:
          'What happened. New names may come. Null for an old run of which only its last state is kept.',
        examples: [...RUN_EVENT_TYPES],
      }),
    ),
    time: Type.String({ format: 'date-time', description: 'When it was stored.' }),
    attempt: Attempt,
    status,
    live_status,
    progress,
    finished,
    end_reason,
    outputs: Type.Optional(
      Type.Array(outputs.items, {
        description: 'Only when the run is finished; as the run itself shows them.',
      }),
    ),
  },
  { title: 'RunFactEvent' },
);
export type RunFactEvent = Readonly<Static<typeof RunFactEvent>>;

/** `event: progress` of a stream; it has no `id`, and only the latest is told. */
export const RunProgressEvent = Type.Object(
  { attempt: Attempt, progress, live_status, time: Time },
  { title: 'RunProgressEvent' },
);
export type RunProgressEvent = Readonly<Static<typeof RunProgressEvent>>;
