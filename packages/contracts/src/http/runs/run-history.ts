import { Type, type Static } from 'typebox';
import { RUN_EVENT_TYPES } from '../../events/run-event.ts';
import { WEBHOOK_EVENT_TYPES } from '../../events/webhook-event.ts';
import { isExactNumber } from '../../exact-number.ts';
import { isDeleted, isEnded, type RunState } from '../../fold/run.ts';
import type { Webhook } from '../../fold/webhook.ts';
import { isJsonObject, type JsonValue } from '../../json.ts';
import { enumInWords, nullable } from '../../schemas.ts';
import { RunUuid, time, Uuid } from '../fields.ts';
import { DeliveryAttempt } from '../webhooks.ts';
import { WebhookStatus } from './run-attempt.ts';
import { RunLogCut, RunLogLine, RunLogNotice } from './run-logs.ts';
import { WorkflowRun } from './run.ts';

const { status, finished } = WorkflowRun.properties;

const Sequence = Type.Integer({ minimum: 0, description: 'A position in the log.', examples: [4711] });
const Sentence = Type.String({
  description: 'What happened, for people. It may have several lines.',
  examples: ['queued for an A10G'],
});
const value = (description: string, example: JsonValue) =>
  Type.Unsafe<JsonValue>({ description, examples: [example] });
const EventUuid = { ...Uuid, description: 'The id of the fact.' };

const RunChange = Type.Object(
  {
    member: Type.String({
      examples: ['status'],
      description:
        'The member of the run as `GET /run/{run_id}` shows it, such as `status` or `attempts[0].ended_at`.',
    }),
    before: value('What it was. Null where there was nothing.', 'queued'),
    after: value('What it became. Null where nothing is left.', 'started'),
  },
  { title: 'RunChange', description: 'A member of the run that a fact changed.' },
);
type RunChange = Readonly<Static<typeof RunChange>>;

export const RunHistoryFact = Type.Object(
  {
    kind: Type.Literal('fact', { description: 'A fact.' }),
    time: time('When it was stored.'),
    sequence: {
      ...Sequence,
      description: 'Its position in the log. `GET /run/{run_id}?at_seq=` shows the run after it.',
    },
    type: Type.String({
      description: 'What happened, as docs/events.md describes it. Later releases may add types.',
      examples: [...RUN_EVENT_TYPES, ...WEBHOOK_EVENT_TYPES],
    }),
    attempt: nullable(
      Type.Integer({
        minimum: 0,
        description:
          'The number of the execution attempt; 0 before the first. Null for a fact about notifications.',
        examples: [1],
      }),
    ),
    round: nullable(
      Type.Integer({
        minimum: 1,
        description: 'Of a fact about notifications: its round of deliveries, from 1.',
        examples: [1],
      }),
      'Null for other facts.',
    ),
    executor: nullable(
      Type.String({
        description: 'The name of the executor that the fact is about; null for none.',
        examples: ['desk'],
      }),
    ),
    writer: Type.String({
      description: 'The service that wrote it.',
      examples: ['gateway', 'scheduler', 'gpu-executor', 'notifier'],
    }),
    cause: nullable(
      Type.Object(
        {
          event_id: EventUuid,
          sequence: nullable(Sequence, 'Null for a fact that is not of this run.'),
          type: nullable(
            Type.String({ description: 'The type of the fact.', examples: ['RunQueued'] }),
            'Null for a fact that is not of this run.',
          ),
        },
        {
          title: 'RunFactCause',
          description:
            'The fact that made the service write this one: of this run, or, with nulls, another one.',
        },
      ),
      'What made the service write it. Null when a request or the time did.',
    ),
    sentence: Sentence,
    changes: nullable(
      Type.Array(RunChange, {
        description:
          'What it changed of the run, except `updated_at`; empty for nothing. Null where facts before it are missing.',
      }),
    ),
    details: nullable(
      Type.Object(
        {
          event_id: EventUuid,
          correlation_id: Type.String({
            description: 'The same for all facts that one request caused.',
            examples: ['01a21460-ae48-7794-b9bb-ade918a387db'],
          }),
          traceparent: nullable(
            Type.String({
              description: 'The W3C trace context.',
              examples: ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
            }),
            'Null when there was none.',
          ),
          instance: Type.String({
            description: 'The process of the service that wrote it.',
            examples: ['gateway-7f3a'],
          }),
          executor_id: nullable(
            Type.String({
              description: 'The id of the executor, which is new at each start of it.',
              examples: ['desk.k3v9x2'],
            }),
            'Null for a fact about none.',
          ),
          data: value('What the fact says, as docs/events.md describes it. Secret inputs are null.', {
            cold_start_s: 1.5,
          }),
        },
        {
          title: 'RunFactDetails',
          description: 'How the services know a fact.',
        },
      ),
      'How the services know it. Null for a key without the scope `admin`.',
    ),
  },
  { title: 'RunHistoryFact', description: 'A fact of the run, with what it changed.' },
);
export type RunHistoryFact = Readonly<Static<typeof RunHistoryFact>>;

export const RunHistoryDelivery = Type.Object(
  {
    kind: Type.Literal('delivery', { description: 'A delivery attempt of a notification.' }),
    time: time('When it began.'),
    sentence: Sentence,
    notification: enumInWords(
      {
        intermediate: 'It told the status of a run that had not ended.',
        final: 'It told the end of the run.',
      },
      { description: 'What the notification told.' },
    ),
    delivery: DeliveryAttempt,
  },
  { title: 'RunHistoryDelivery', description: 'A delivery attempt of a notification of the run.' },
);
export type RunHistoryDelivery = Readonly<Static<typeof RunHistoryDelivery>>;

export const RunHistoryLog = Type.Object(
  {
    kind: Type.Literal('log', { description: 'Something of the log of an attempt.' }),
    time: time('When it was written. Of a notice: when its attempt ended, or the time of the last fact.'),
    log: Type.Union([RunLogLine, RunLogCut, RunLogNotice], {
      description: 'A line, a place where lines are missing, or a notice.',
    }),
  },
  {
    title: 'RunHistoryLog',
    description: 'One of the first and the last lines of the log of an attempt, or what is missing between.',
  },
);
export type RunHistoryLog = Readonly<Static<typeof RunHistoryLog>>;

export const RunHistoryGap = Type.Object(
  {
    kind: Type.Literal('gap', { description: 'A place where something is missing.' }),
    time: time('The time of what follows it.'),
    reason: enumInWords(
      {
        expired: 'Facts have left the log with their age.',
        missing: 'The log has lost facts.',
        refused: 'A message in the log is no fact of the run, and changed nothing.',
        newer: 'Only a later release understands the fact.',
      },
      { description: 'Why something is missing.' },
    ),
    sequence: nullable({
      ...Sequence,
      description:
        'The position of the message, or of the first one after the gap; null when the log has none.',
    }),
    sentence: Sentence,
  },
  { title: 'RunHistoryGap', description: 'A place of the history where something is missing.' },
);
export type RunHistoryGap = Readonly<Static<typeof RunHistoryGap>>;

export type RunHistoryEntry = RunHistoryFact | RunHistoryDelivery | RunHistoryLog | RunHistoryGap;

export const RunHistory = Type.Object(
  {
    run_id: RunUuid,
    status: nullable(status, 'The status of the run. Null when its state is not known.'),
    finished,
    webhook_status: nullable(
      WebhookStatus,
      'The state of its notifications. Null for a run without a webhook, and when its state is not known.',
    ),
    entries: Type.Array(
      Type.Union([RunHistoryFact, RunHistoryDelivery, RunHistoryLog, RunHistoryGap], {
        description: 'What happened, by `kind`.',
      }),
      {
        description: 'What happened, in the order of their times; facts in the order of the log.',
      },
    ),
  },
  { title: 'RunHistory', description: 'What happened to a run.' },
);
export type RunHistory = Readonly<Static<typeof RunHistory>>;

/** Each fact changes it, to its own time. */
const UNSAID: ReadonlySet<string> = new Set(['updated_at']);

type Members = Readonly<Record<string, JsonValue>>;

/** What differs between two states of a run as clients see it: the innermost members. Members that are not there count as null. */
export const runChanges = (before: Members | undefined, after: Members | undefined): RunChange[] =>
  Object.keys(after ?? before ?? {}).flatMap((name) =>
    UNSAID.has(name) ? [] : changesOf(name, before?.[name] ?? null, after?.[name] ?? null),
  );

const changesOf = (member: string, before: JsonValue, after: JsonValue): RunChange[] => {
  if (Array.isArray(before) && Array.isArray(after)) {
    const length = Math.max(before.length, after.length);
    return Array.from({ length }, (_, n) => n).flatMap((n) =>
      changesOf(`${member}[${n}]`, before[n] ?? null, after[n] ?? null),
    );
  }
  if (isJsonObject(before) && isJsonObject(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].flatMap((name) =>
      changesOf(`${member}.${name}`, before[name] ?? null, after[name] ?? null),
    );
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ member, before, after }];
};

/**
 * All that a view says of a run, as one text: equal states give equal texts, whatever the order of their members. What is left to erase is
 * not in it: it goes when it is erased, without a fact.
 */
export const viewText = (run: RunState, webhook: Webhook | undefined): string =>
  JSON.stringify([sorted(withoutErasure(run)), sorted(webhook ?? null)]);

const withoutErasure = (run: RunState): RunState => {
  if (isDeleted(run)) return { ...run, to_erase: null };
  if (!isEnded(run) || !run.deleted_outputs) return run;
  return { ...run, deleted_outputs: { ...run.deleted_outputs, to_erase: null } };
};

/** Members without a value are left out, as in JSON. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null || isExactNumber(value)) return value;
  return Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => [name, sorted(member)]);
};
