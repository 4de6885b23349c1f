import { Type, type Static } from 'typebox';
import { RUN_EVENT_TYPES } from '../events/run-event.ts';
import { WEBHOOK_EVENT_TYPES } from '../events/webhook-event.ts';
import type { JsonValue } from '../json.ts';
import { nullable } from './fields/optional.ts';
import { Time, Uuid } from './fields/values.ts';
import { DeliveryAttempt } from './webhooks.ts';
import { WorkflowRun } from './runs/run.ts';
import { RunLogCut, RunLogLine, RunLogNotice } from './runs/run-logs.ts';

const { status, finished, webhook_status } = WorkflowRun.properties;

const Sequence = Type.Integer({ minimum: 0, description: 'A position in the log.' });
const Sentence = Type.String({ description: 'What happened, for people. It may have several lines.' });
const Value = (description: string) => Type.Unsafe<JsonValue>({ description });

export const RunChange = Type.Object(
  {
    member: Type.String({
      description: 'Of the run as `GET /run/{run_id}` shows it, such as `status` or `attempts[0].ended_at`.',
    }),
    before: Value('Null where there was nothing.'),
    after: Value('Null where nothing is left.'),
  },
  { title: 'RunChange' },
);
export type RunChange = Readonly<Static<typeof RunChange>>;

export const RunHistoryFact = Type.Object(
  {
    kind: Type.Literal('fact'),
    time: Type.String({ format: 'date-time', description: 'The time when it was stored.' }),
    sequence: {
      ...Sequence,
      description: 'Its position in the log. `GET /run/{run_id}?at_seq=` shows the run after it.',
    },
    type: Type.String({
      description: 'Later releases may add types.',
      examples: [...RUN_EVENT_TYPES, ...WEBHOOK_EVENT_TYPES],
    }),
    attempt: nullable(
      Type.Integer({
        minimum: 0,
        description:
          'The number of the execution attempt; 0 before the first. Null for a fact about notifications.',
      }),
    ),
    round: nullable(
      Type.Integer({ minimum: 1, description: 'Of a fact about notifications: its round of deliveries.' }),
    ),
    executor: nullable(
      Type.String({ description: 'The name of the executor that the fact is about; null for none.' }),
    ),
    writer: Type.String({
      description: 'The service that wrote it.',
      examples: ['gateway', 'scheduler', 'gpu-executor', 'notifier'],
    }),
    cause: nullable(
      Type.Object(
        {
          event_id: Uuid,
          sequence: nullable(Sequence),
          type: nullable(Type.String()),
        },
        {
          title: 'RunFactCause',
          description:
            'The fact that made the service write this one: of this run, or, with nulls, another one. Null when a request or the time did.',
        },
      ),
    ),
    sentence: Sentence,
    changes: nullable(
      Type.Array(RunChange, {
        description:
          'What it changed of the run, except `updated_at`. Null where facts before it are missing.',
      }),
    ),
    details: nullable(
      Type.Object(
        {
          event_id: Uuid,
          correlation_id: Type.String({ description: 'The same for all facts that one request caused.' }),
          traceparent: nullable(Type.String({ description: 'The W3C trace context.' })),
          instance: Type.String({ description: 'The process of the service that wrote it.' }),
          executor_id: nullable(Type.String({ description: 'New at each start of an executor.' })),
          data: Value('What the fact says, as docs/events.md describes it. Secret inputs are null.'),
        },
        {
          title: 'RunFactDetails',
          description: 'How the services know it. Null for a key without the scope `admin`.',
        },
      ),
    ),
  },
  { title: 'RunHistoryFact' },
);
export type RunHistoryFact = Readonly<Static<typeof RunHistoryFact>>;

export const RunHistoryDelivery = Type.Object(
  {
    kind: Type.Literal('delivery'),
    time: Type.String({ format: 'date-time', description: 'The time when it began.' }),
    sentence: Sentence,
    notification: Type.Enum(['intermediate', 'final']),
    delivery: DeliveryAttempt,
  },
  { title: 'RunHistoryDelivery' },
);
export type RunHistoryDelivery = Readonly<Static<typeof RunHistoryDelivery>>;

export const RunHistoryLog = Type.Object(
  { kind: Type.Literal('log'), time: Time, log: Type.Union([RunLogLine, RunLogCut, RunLogNotice]) },
  { title: 'RunHistoryLog', description: 'The first and the last lines of the log of each attempt.' },
);
export type RunHistoryLog = Readonly<Static<typeof RunHistoryLog>>;

export const RunHistoryGap = Type.Object(
  {
    kind: Type.Literal('gap'),
    time: Type.String({ format: 'date-time', description: 'Of what follows it.' }),
    reason: Type.Enum(['expired', 'missing', 'refused', 'newer'], {
      description:
        '`expired`: facts have left the log with their age. `missing`: the log has lost facts. `refused`: a message in the log that is no fact of the run, and changed nothing. `newer`: a fact that only a later release understands.',
    }),
    sequence: nullable({
      ...Sequence,
      description: 'Of the message, or of the first one after the gap; null when the log has none.',
    }),
    sentence: Sentence,
  },
  { title: 'RunHistoryGap' },
);
export type RunHistoryGap = Readonly<Static<typeof RunHistoryGap>>;

export type RunHistoryEntry = RunHistoryFact | RunHistoryDelivery | RunHistoryLog | RunHistoryGap;

export const RunHistory = Type.Object(
  {
    run_id: Uuid,
    status: nullable(status),
    finished,
    webhook_status,
    entries: Type.Array(
      Type.Union([RunHistoryFact, RunHistoryDelivery, RunHistoryLog, RunHistoryGap], {
        description: 'By `kind`.',
      }),
      { description: 'In the order of their times; facts in the order of the log.' },
    ),
  },
  { title: 'RunHistory' },
);
export type RunHistory = Readonly<Static<typeof RunHistory>>;
