import { Type, type Static } from 'typebox';
import { LOG_STREAMS } from '../../logs/log-line.ts';
import { Time } from '../fields/values.ts';
import { WorkflowRun } from './run.ts';

const Attempt = Type.Integer({ minimum: 1, description: 'The number of the execution attempt.' });

export const RunLogLine = Type.Object(
  {
    at: Type.String({ format: 'date-time', description: 'When the executor read it.' }),
    attempt: Attempt,
    stream: Type.Enum(LOG_STREAMS, {
      description: 'Where it comes from: the two output streams of the workflow, or what executes it.',
    }),
    line: Type.String({
      description: 'Without control characters, and with `***` for what the deployment masks.',
    }),
    truncated: Type.Optional(
      Type.Boolean({ description: 'True when the line was longer than 4 KiB: its end is cut off.' }),
    ),
  },
  { title: 'RunLogLine' },
);
export type RunLogLine = Readonly<Static<typeof RunLogLine>>;

export const RunLogCut = Type.Object(
  {
    at: Time,
    attempt: Attempt,
    cut: Type.Object(
      { lines: Type.Integer({ minimum: 1 }), bytes: Type.Integer({ minimum: 0 }) },
      { description: 'What is missing at this place.' },
    ),
  },
  { title: 'RunLogCut' },
);
export type RunLogCut = Readonly<Static<typeof RunLogCut>>;

export const RunLogNotice = Type.Object(
  { attempt: Attempt, notice: Type.String({ description: 'What is to be known about this log.' }) },
  { title: 'RunLogNotice' },
);
export type RunLogNotice = Readonly<Static<typeof RunLogNotice>>;

/** A line of the response, or the data of an event, by its own name. */
export type RunLogItem = RunLogLine | RunLogCut | RunLogNotice;

/** `event: end`, the last one of a stream. */
export const RunLogEnd = Type.Object({ status: WorkflowRun.properties.status }, { title: 'RunLogEnd' });
export type RunLogEnd = Readonly<Static<typeof RunLogEnd>>;
