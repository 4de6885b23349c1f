/** docs/errors.md from the table of codes. */
import { CODE_GROUPS } from '@runledger/contracts/http/refusals/refusal-codes';

const cell = (text: string): string => text.replaceAll('|', String.raw`\|`);

const NOTES: Readonly<Record<string, string>> = {
  Attempts: 'What executors get, with the token of an attempt. No operation of the API gives these.',
};

const section = ({ title, codes }: (typeof CODE_GROUPS)[number]): string =>
  [
    `## ${title}`,
    '',
    ...(NOTES[title] === undefined ? [] : [NOTES[title], '']),
    '| code | status | cause | remedy |',
    '|---|---|---|---|',
    ...Object.entries(codes)
      .toSorted(([, one], [, other]) => one.status - other.status)
      .map(
        ([code, { status, cause, remedy }]) =>
          `| \`${code}\` | ${status} | ${cell(cause)} | ${cell(remedy)} |`,
      ),
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
    'A record of another organisation is refused as one that does not exist.',
    '',
    ...CODE_GROUPS.map(section),
  ].join('\n');
