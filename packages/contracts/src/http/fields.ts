import { Type, type TString } from 'typebox';
import { Format } from 'typebox/format';

/**
 * The ids of records in the examples of the document. A gateway may be told records that exist: its document has their ids
 * instead (RUNLEDGER_EXAMPLE_IDS).
 */
export const EXAMPLE_IDS = {
  machine_id: '01a21460-0001-7000-8000-000000000001',
  workflow_id: '01a21460-0002-7000-8000-000000000002',
  workflow_version_id: '01a21460-0003-7000-8000-000000000003',
  deployment_id: '01a21460-0004-7000-8000-000000000004',
} as const;

const id = (of: string, example: string): TString =>
  Type.String({ format: 'uuid', description: `The id of ${of}.`, examples: [example] });

export const MachineUuid = id('the machine', EXAMPLE_IDS.machine_id);
export const WorkflowUuid = id('the workflow', EXAMPLE_IDS.workflow_id);
export const VersionUuid = id('the workflow version', EXAMPLE_IDS.workflow_version_id);
export const DeploymentUuid = id('the deployment', EXAMPLE_IDS.deployment_id);
export const ScheduleUuid = id('the schedule', '01a21460-0005-7000-8000-000000000005');
export const RunUuid = id('the run', '01a21460-ae48-7794-b9bb-ade918a387db');
export const OrganisationUuid = id(
  'the organisation that it belongs to',
  '01a21460-0006-7000-8000-000000000006',
);
export const UserUuid = id('the user', '01a21460-0007-7000-8000-000000000007');
export const KeyUuid = id('the API key', '01a21460-0008-7000-8000-000000000008');
export const FileUuid = id('the file', '01a21460-0009-7000-8000-000000000009');
export const UploadUuid = id('the upload', '01a21460-000a-7000-8000-00000000000a');

/** Accepted in either case, always written in lower case. */
export const Uuid = Type.String({
  format: 'uuid',
  examples: ['01a21460-ae48-7794-b9bb-ade918a387db'],
});

const TIME = { format: 'date-time', examples: ['2026-01-31T09:30:00.000Z'] };

/** ISO 8601 in UTC, to the millisecond, with `Z`. */
export const Time = Type.String(TIME);

/** The same, with what happens then. */
export const time = (description: string): Type.TString => Type.String({ ...TIME, description });

export const CreatedAt = time('When it was created.');

/** A day that is to come. The document is the same for years, so it is far away. */
export const FUTURE_DAY = '2099-12-31';

const TIME_OR_DAY =
  /^(\d{4}-\d{2}-\d{2})(?:T(?!24)\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

// JavaScript would read the 30th of February as the 2nd of March.
Format.Set('time-or-day', (text) => {
  const day = TIME_OR_DAY.exec(text)?.[1];
  // oxlint-disable-next-line no-restricted-globals -- parses a text; the clock is not read
  return day !== undefined && Format.IsDate(day) && !Number.isNaN(Date.parse(text));
});

const HAS_TIME = /T/;
Format.Set('time-with-offset', (text) => HAS_TIME.test(text) && Format.Test('time-or-day', text));

/** A time in a request, with its offset from UTC. */
export const TimeWithOffset = Type.String({ format: 'time-with-offset', examples: ['2026-01-31T09:30:00Z'] });

/** A time in a request: with its offset from UTC, or a day, which begins at midnight UTC. */
export const TimeOrDay = Type.String({ format: 'time-or-day', examples: ['2026-01-31T09:30:00Z'] });

export const PageLimit = Type.Integer({
  minimum: 1,
  maximum: 100,
  default: 20,
  description: 'The most items on a page.',
  examples: [20],
});

/** It is not for people, and belongs to one list. */
const CURSOR = 'MDFhMjE0NjAtYWU0OC03Nzk0LWI5YmItYWRlOTE4YTM4N2Ri';

export const Cursor = Type.String({
  maxLength: 512,
  description: '`next_cursor` of the previous page. Left out for the first page.',
  examples: [CURSOR],
});

export const NextCursor = Type.Union([Type.String(), Type.Null()], {
  examples: [CURSOR, null],
  description:
    'The cursor of the next page; null on the last page. A page may be shorter than the limit, even empty, while this is not null.',
});

/** One or several of these words in a body: a list, or one text with commas, as in a query. */
export const wordsOf = <Schema extends Type.TSchema & { readonly enum: readonly string[] }>(
  schema: Schema,
  options: { readonly default?: string } = {},
): Type.TUnion<[Type.TString, Type.TArray<Schema>]> => {
  const word = `(?:${schema.enum.join('|')})`;
  const choice = schema.enum.map((name) => `'${name}'`).join(', ');
  return Type.Union([Type.String({ pattern: `^ *${word} *(?:, *${word} *)*$` }), Type.Array(schema)], {
    ...options,
    'x-refusal': {
      type: 'enum',
      msg: `Send one or several of ${choice}: a list, or a text with commas`,
    },
  });
};

/** The name of a stored record. A record of an earlier release may have a name that `NewName` refuses. */
export const Name = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'Its name, for people. Several may have the same.',
  examples: ['portraits'],
});

/** With `@` and a number. */
const MAX_DEPLOYMENT_NAME = 144;

/** What a request that queues runs may have instead of the id of a deployment. */
export const DEPLOYMENT_NAME =
  'The deployment by its name, instead of `deployment_id`: the one of this name that is not archived. Behind the name `@` and a number, such as `portraits@12`, is that version of its workflow instead of its own; all else is as the deployment has it. If the name of a deployment itself ends like that, it is that deployment.';
export const DeploymentName = Type.String({
  minLength: 1,
  maxLength: MAX_DEPLOYMENT_NAME,
  examples: ['portraits'],
  description: DEPLOYMENT_NAME,
});

/** The same in a filter. */
export const FilteredDeployment = Type.String({
  minLength: 1,
  maxLength: MAX_DEPLOYMENT_NAME,
  examples: ['portraits'],
  description:
    'The deployment by its name, instead of `deployment_id`: the one of exactly this name that is not archived, or else the archived one.',
});

/** Invisible characters: they disguise a name, change the direction of text, or end a line of a log. */
const INVISIBLE =
  '\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb';
/** Spaces and joiners of letters and emoji: allowed in a name, but a name needs other characters too. */
const BLANK = ' \\u00a0\\u1680\\u2000-\\u200a\\u200c\\u200d\\u202f\\u205f\\u2800\\u3000\\u3164';

/** Of a text that is not blank: any character that is seen. */
export const VISIBLE = `[^${BLANK}${INVISIBLE}]`;

/** Clients are generated in several languages: JavaScript, Python and Rust all understand these escapes. */
export const NewName = Type.String({
  minLength: 1,
  maxLength: 128,
  pattern: `^[${BLANK}]*${VISIBLE}[^${INVISIBLE}]*$`,
  examples: ['portraits'],
  description:
    'For people. Not blank, and without control characters and characters that change the direction of text.',
  'x-refusal': {
    type: 'string_pattern_mismatch',
    msg: 'Send a text of 1 to 128 characters that is not blank, without control characters and characters that change the direction of text',
  },
});

export const Archived = Type.Boolean({
  description: 'Whether it is archived: kept for its runs, and not available for anything new.',
  examples: [false],
});

/** The page of a list of records. */
export const RecordsQuery = Type.Object({
  archived: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'True lists the archived records instead of the others.',
      examples: [false],
    }),
  ),
  limit: Type.Optional(PageLimit),
  cursor: Type.Optional(Cursor),
});

/** The page of a list of records that have names. */
export const NamedRecordsQuery = Type.Object({
  ...RecordsQuery.properties,
  name: Type.Optional({ ...Name, description: 'Only records with exactly this name; several may have it.' }),
});
