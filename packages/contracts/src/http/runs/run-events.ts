import { Type, type Static } from 'typebox';
import { RUN_EVENT_TYPES } from '../../events/run-event.ts';
import { enumInWords, nullable, optional } from '../../schemas.ts';
import { time } from '../fields.ts';
import { WorkflowRun } from './run.ts';

const {
  status,
  live_status,
  progress,
  finished,
  end_reason,
  error,
  warnings,
  attempts,
  outputs,
  missing_members,
} = WorkflowRun.properties;

const Attempt = Type.Integer({
  minimum: 0,
  description: 'The number of the execution attempt, from 1; 0 for an event about no attempt.',
  examples: [1],
});

/** `event: fact` of a stream; its `id` is `sequence`. It shows the state of the run after this fact. */
export const RunFactEvent = Type.Object(
  {
    sequence: Type.Integer({
      minimum: 0,
      description:
        'The position of the fact in the log. Send the last one as Last-Event-ID to continue after it.',
      examples: [4711],
    }),
    type: nullable(
      Type.String({
        description:
          'What happened. Later releases may add types. Null for an old run of which only the last state is kept.',
        examples: [...RUN_EVENT_TYPES],
      }),
    ),
    time: time('The time when it was stored.'),
    attempt: Attempt,
    status,
    live_status,
    progress: Type.Number({
      minimum: 0,
      maximum: 1,
      description:
        'As far as facts say: 0 until the end. So a fact looks the same while the run runs and later. How far an attempt is, `event: progress` shows.',
      examples: [0],
    }),
    finished,
    end_reason,
    error,
    warnings,
    attempts,
    outputs: Type.Optional(
      Type.Array(outputs.items, {
        description: 'Only present in the last fact of a run; the same as in the run.',
      }),
    ),
    missing_members: Type.Optional(
      Type.Array(missing_members.items, {
        description: 'As in the run; only present when its outputs are lost or deleted.',
      }),
    ),
  },
  {
    title: 'RunFactEvent',
    description: '`event: fact` of a stream. It shows the state of the run after this fact.',
  },
);
export type RunFactEvent = Readonly<Static<typeof RunFactEvent>>;

/** `event: progress` of a stream. It has no `id`, only the latest is sent, and none after the end of the run. */
export const RunProgressEvent = Type.Object(
  { attempt: Attempt, progress, live_status, time: time('When it was reported.') },
  {
    title: 'RunProgressEvent',
    description: '`event: progress` of a stream. It has no `id`, and only the latest is sent.',
  },
);
export type RunProgressEvent = Readonly<Static<typeof RunProgressEvent>>;

export const RunTokenScope = enumInWords(
  {
    read: '`GET /run/{run_id}`, without `include`.',
    events: '`GET /run/{run_id}/events`.',
    logs: '`GET /run/{run_id}/logs`.',
  },
  { title: 'RunTokenScope', description: 'What a token of a run permits.' },
);
export type RunTokenScope = Static<typeof RunTokenScope>;

/** When a request names no lifetime. */
export const RUN_TOKEN_S = 3_600;

export const NewRunTokenRequest = Type.Object(
  {
    scopes: Type.Array(RunTokenScope, {
      minItems: 1,
      maxItems: 16,
      description: 'What the token permits.',
      examples: [['read', 'events']],
    }),
    expires_in_s: optional(
      Type.Integer({
        minimum: 1,
        description: `Seconds for which the token is valid, ${RUN_TOKEN_S} by default, or fewer if the installation allows fewer. It never outlives the API key.`,
        examples: [900],
      }),
    ),
  },
  {
    title: 'NewRunToken',
    description: 'A token for one run.',
    examples: [{ scopes: ['read', 'events'], expires_in_s: 900 }],
  },
);
export type NewRunTokenRequest = Static<typeof NewRunTokenRequest>;

export const RunTokenItem = Type.Object(
  {
    token: Type.String({
      description: 'The token. It is shown only here, and stored nowhere.',
      examples: ['rlt_eyJydW5faWQiOiIwMWEyMTQ2MCJ9.c2lnbmF0dXJl'],
    }),
    expires_at: time('When it expires.'),
  },
  { title: 'RunToken', description: 'A token that permits little about one run.' },
);
export type RunTokenItem = Static<typeof RunTokenItem>;
