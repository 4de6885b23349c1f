/** docs/errors.md from the table of codes. */
import {
  endReasonOf,
  ERROR_KINDS,
  isRetryableKind,
  meaningsOf,
  RETRY_KINDS,
} from '@runledger/contracts/events/run-error';
import { CODE_GROUPS } from '@runledger/contracts/http/refusal-codes';

const cell = (text: string): string => text.replaceAll('|', String.raw`\|`);

const NOTES: Readonly<Record<string, string>> = {
  Attempts: 'What executors get, with the token of an attempt. No operation of the API gives these.',
};

const section = ({ title, codes }: (typeof CODE_GROUPS)[number]): string =>
  [
    `## ${title}`,
    '',
    ...(NOTES[title] === undefined ? [] : [NOTES[title], '']),
    ...Object.entries(codes)
      .toSorted(([, one], [, other]) => one.status - other.status)
      .map(([code, { status, cause, remedy }]) => `- \`${code}\`, ${status}: ${cause}\n  _${remedy}_`),
    '',
  ].join('\n');

const isRetryKind = (kind: string): boolean => RETRY_KINDS.some((one) => one === kind);

const errorsOfRuns = (): string =>
  [
    '## Errors of runs',
    '',
    'A run that failed or timed out has an `error`, in every response, event and notification: its `kind` is one of these, and belongs to one',
    '`end_reason`. `retryable` is the usual answer; that of the run is in its error. `retry.on` of a deployment may name the kinds of the last column.',
    'Later releases may add kinds. While the system is updated, a run may have one that its gateway does not know: it belongs to `workflow_error`.',
    '',
    '| `kind` | `end_reason` | means | `retryable` | `retry.on` |',
    '|---|---|---|---|---|',
    ...Object.entries(meaningsOf(ERROR_KINDS)).map(([name, means]) => {
      const kind = name as (typeof ERROR_KINDS)[number];
      const answers = [isRetryableKind(kind), isRetryKind(kind)].map((is) => (is ? 'yes' : 'no'));
      return `| \`${kind}\` | \`${endReasonOf(kind)}\` | ${cell(means)} | ${answers.join(' | ')} |`;
    }),
    '',
  ].join('\n');

export const errorsPage = (): string =>
  [
    '# Errors',
    '',
    'Generated from the code by `npm run docs`. A test compares it with the code, and tests provoke every code.',
    '',
    'Every refusal has the same form, also those of a malformed request:',
    '',
    '```json',
    '{ "detail": "Run not found", "code": "run_not_found", "request_id": "01a21460-ae48-7794-b9bb-ade918a387db" }',
    '```',
    '',
    '- `detail` is for people: a sentence that says what happened and what to do. With 422, and only then, it is a list of `{loc, msg, type}`.',
    '- `code` is for programs: one cause with one remedy, and always the same status. Codes never change their meaning; clients may meet new',
    '  ones, and then go by the status.',
    '- `request_id` is that of the header `X-Request-Id`: the one of the request, or a new one. The log of the gateway has it.',
    '',
    'A record of another organisation is refused as one that does not exist. Below are the code, the status, the cause, and in italics the remedy.',
    '',
    ...CODE_GROUPS.map(section),
    errorsOfRuns(),
  ].join('\n');
