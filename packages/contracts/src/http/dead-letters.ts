import { Type, type Static } from 'typebox';
import { OrganisationUuid, RunUuid, Cursor, NextCursor, PageLimit, time } from './fields.ts';
import { nullable } from '../schemas.ts';

/** Of the content of a dead letter, in a list. */
export const MAX_SHOWN_CONTENT_BYTES = 16 * 1024;

const Id = Type.String({
  pattern: '^[1-9][0-9]{0,14}$',
  description:
    'The id of the dead letter: its position in DEAD_LETTERS, by which `runledger dead-letters show` finds it too.',
  examples: ['12'],
  'x-refusal': {
    type: 'string_pattern_mismatch',
    msg: 'Send the id of a dead letter: a number from 1, such as 12',
  },
});

const name = (description: string, example: string): Type.TString =>
  Type.String({
    pattern: '^[A-Za-z0-9_-]{1,100}$',
    description,
    examples: [example],
    'x-refusal': {
      type: 'string_pattern_mismatch',
      msg: 'Send a name: 1 to 100 letters, digits, "_" or "-"',
    },
  });

const DeadLetter = Type.Object(
  {
    id: Id,
    reason: Type.String({
      description: 'Why the consumer could not handle it, for people.',
      examples: ['the payload is not JSON in UTF-8'],
    }),
    consumer: Type.String({
      description:
        'The consumer that could not handle it: `scheduler`, `projection`, or `executor-` and the name of an executor.',
      examples: ['scheduler'],
    }),
    stream: Type.String({
      description: 'The stream that holds the message until it expires there.',
      examples: ['RUNS'],
    }),
    subject: Type.String({
      description: 'The subject of the message.',
      examples: ['runs.org.run.life.queued.gateway.0.none'],
    }),
    sequence: Type.Integer({
      description: 'The position of the message in its stream.',
      examples: [20_731],
    }),
    time: time('When the message was stored in its stream.'),
    org_id: nullable(
      { ...OrganisationUuid, description: 'The organisation of the run that the message is about.' },
      'Null when it is about no run.',
    ),
    run_id: nullable(RunUuid, 'Null when the message is about no run.'),
    size_bytes: nullable(
      Type.Integer({ minimum: 0, description: 'The size of the content, in bytes.', examples: [812] }),
      'Null when the content was too large for a dead letter: it is in its stream.',
    ),
    content: nullable(
      Type.String({
        description: `The first ${MAX_SHOWN_CONTENT_BYTES / 1024} KiB of the content as text, which is JSON unless that is what is wrong with it.`,
        examples: ['{"type":"RunQueued","version":1}'],
      }),
      'Null when the content was too large for a dead letter.',
    ),
    content_truncated: Type.Boolean({
      description: 'Whether the content is longer than shown.',
      examples: [false],
    }),
    redriver: nullable(
      Type.String({
        description: 'The service that handles it again when it is redriven.',
        examples: ['scheduler'],
      }),
      'Null when none does: then it stays until it expires or is removed.',
    ),
  },
  { title: 'DeadLetter', description: 'A message that no consumer could handle, with the reason.' },
);
export type DeadLetter = Static<typeof DeadLetter>;

export const DeadLettersQuery = Type.Object({
  stream: Type.Optional(name('Only messages of this stream.', 'RUNS')),
  consumer: Type.Optional(name('Only those that this consumer could not handle.', 'scheduler')),
  limit: Type.Optional(PageLimit),
  cursor: Type.Optional(Cursor),
});

export const DeadLetterPage = Type.Object(
  {
    dead_letters: Type.Array(DeadLetter, { description: 'Oldest first.' }),
    next_cursor: NextCursor,
  },
  { title: 'DeadLetterPage', description: 'A page of dead letters.' },
);

export const DeadLetterPath = Type.Object({ id: Id });

export const RedrivenDeadLetter = Type.Object(
  {
    id: Id,
    outcome: Type.Enum(['taken', 'refused', 'no_response', 'no_responder'], {
      description:
        '`taken`: it was handled and removed. It stays otherwise. `refused`: it still cannot be handled. `no_response`: the service did not respond in time. `no_responder`: no service handles messages of this consumer again.',
      examples: ['taken'],
    }),
    why: Type.String({
      description: 'The outcome in words, and what to do.',
      examples: [
        'Run 01a21460-ae48-7794-b9bb-ade918a387db was read again from the log: its status is running.',
      ],
    }),
  },
  { title: 'RedrivenDeadLetter', description: 'The outcome of handling a dead letter again.' },
);
export type RedrivenDeadLetter = Static<typeof RedrivenDeadLetter>;
