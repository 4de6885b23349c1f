import { Type, type Static } from 'typebox';
import { enumInWords, type InWords } from '../../schemas.ts';
import type { LogStream } from '../../run-logs.ts';
import { time } from '../fields.ts';
import { WorkflowRun } from './run.ts';

const Attempt = Type.Integer({
  minimum: 1,
  description: 'The number of the execution attempt, from 1.',
  examples: [1],
});

const STREAMS: InWords<LogStream> = {
  stdout: 'The standard output of the workflow.',
  stderr: 'The standard error of the workflow.',
  runner: 'What executes the workflow.',
};

export const RunLogLine = Type.Object(
  {
    at: time('When the executor read it.'),
    attempt: Attempt,
    stream: enumInWords(STREAMS, { description: 'Where it comes from.' }),
    line: Type.String({
      description: 'The text, without control characters, and with `***` for what the deployment masks.',
      examples: ['100%|##########| 20/20 [00:03<00:00,  6.1it/s]'],
    }),
    truncated: Type.Optional(
      Type.Boolean({
        description: 'Only present, and true, when the line was longer than 4 KiB: its end is cut off.',
        examples: [true],
      }),
    ),
  },
  { title: 'RunLogLine', description: 'A line of the log of an attempt.' },
);
export type RunLogLine = Readonly<Static<typeof RunLogLine>>;

export const RunLogCut = Type.Object(
  {
    at: time('When the executor read the line after it; at the end of a log, the line before it.'),
    attempt: Attempt,
    cut: Type.Object(
      {
        lines: Type.Integer({ minimum: 1, description: 'The number of lines.', examples: [1200] }),
        bytes: Type.Integer({ minimum: 0, description: 'Their bytes.', examples: [98_304] }),
      },
      { description: 'What is missing at this place.' },
    ),
  },
  { title: 'RunLogCut', description: 'A place of the log where lines are missing.' },
);
export type RunLogCut = Readonly<Static<typeof RunLogCut>>;

export const RunLogNotice = Type.Object(
  {
    attempt: Attempt,
    notice: Type.String({
      description: 'What is to be known about this log, for people.',
      examples: ['The log of this attempt has expired.'],
    }),
  },
  { title: 'RunLogNotice', description: 'A remark about the log of an attempt.' },
);
export type RunLogNotice = Readonly<Static<typeof RunLogNotice>>;

/** A line of the response, or the data of an event, by its own name. */
export type RunLogItem = RunLogLine | RunLogCut | RunLogNotice;

/** `event: end`, the last one of a stream. */
export const RunLogEnd = Type.Object(
  { status: WorkflowRun.properties.status },
  {
    title: 'RunLogEnd',
    description: '`event: end`, the last one of a stream: the run has ended.',
  },
);
export type RunLogEnd = Readonly<Static<typeof RunLogEnd>>;
