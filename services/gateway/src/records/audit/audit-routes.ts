import { AuditExportQuery, AuditPage, AuditQuery, type AuditEntry } from '@runledger/contracts/http/audit';
import { AUDIT_STREAMS } from '@runledger/contracts/audit-actions';
import {
  readAuditBackwards,
  type AuditPosition,
  type AuditRange,
  type StoredAuditRecord,
} from '@runledger/event-log/streams/audit-records';
import { recordsLeft } from '@runledger/event-log/streams/audit-ring';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { AuditRecord } from '@runledger/contracts/audit-record';
import { seenOrganisation } from '../../door/caller.ts';
import { operation, route, type Caller, type Route } from '../../door/operation.ts';
import { cursorAt, checkCursor, decodeCursor, DEFAULT_LIMIT } from '../../door/pagination.ts';
import { streamed } from '../../door/responses.ts';

const shared = {
  method: 'GET',
  tag: 'Audit',
  scope: 'admin',
  orScope: 'operator',
} as const;

const listOperation = operation({
  ...shared,
  id: 'listAudit',
  path: '/audit',
  summary: 'List audit records',
  description:
    'Who did what in the organisation, newest first; with the scope `operator` in all organisations, and with the executors, unless `organisation` is given. Most actions have two records with one id: `requested`, stored before the action is carried out, and `completed`, with its outcome. Nobody can change or remove a record. Records are kept for a year by default, and of each kind only the newest: `left` says where older ones may be missing. Pages skip no record and repeat none, also while records are stored.',
  request: { query: AuditQuery },
  response: { status: 200, description: 'A page of records.', body: AuditPage },
});

const exportOperation = operation({
  ...shared,
  id: 'exportAudit',
  path: '/audit/export',
  summary: 'Export audit records',
  description:
    'All records that match, newest first, as JSON lines: each as an item of `listAudit`. A response that was cut off ends without the end of a chunk; go on with `until`.',
  request: { query: AuditExportQuery },
  response: { status: 200, description: 'One record on each line.', contentTypes: ['application/x-ndjson'] },
});

/** Bounds the work of one page when few records match. */
const MOST_READ = 4_000;

export const auditRoutes = (log: EventLog): Route[] => [
  route(
    listOperation,
    async ({ query }, caller) => {
      const range = { ...rangeOf(query, caller), below: positionIn(query.cursor) };
      const [page, left] = await Promise.all([readPage(log, query, range), leftOf(log, range)]);
      return { ...page, left };
    },
    checkCursor(isPosition),
  ),
  route(exportOperation, async ({ query }, caller, ctx) => {
    const spans = readAuditBackwards(log, rangeOf(query, caller));
    ctx.set('Cache-Control', 'no-store');
    ctx.type = 'application/x-ndjson';
    if (ctx.method === 'HEAD') return;
    const lines = async function* (): AsyncGenerator<string> {
      for await (const { records } of spans) yield linesOf(records.filter(isOf(query)));
    };
    ctx.body = await streamed(lines());
  }),
];

const readPage = async (
  log: EventLog,
  query: AuditQuery,
  range: AuditRange,
): Promise<Pick<AuditPage, 'records' | 'next_cursor'>> => {
  const limit = query.limit ?? DEFAULT_LIMIT;
  const matches = isOf(query);
  const records: AuditEntry[] = [];
  let position = range.below ?? {};
  let read = 0;
  const page = (next: AuditPosition | undefined) => ({ records, next_cursor: cursorOf(next) });
  for await (const span of readAuditBackwards(log, range)) {
    for (const record of span.records) {
      position = { ...position, [record.stream]: record.sequence };
      if (matches(record)) records.push(shown(record));
      if (records.length === limit) return page(position);
    }
    position = span.below;
    read += span.read;
    if (read >= MOST_READ) return page(position);
  }
  return page(undefined);
};

const leftOf = async (log: EventLog, { org_id, action }: AuditRange): Promise<AuditPage['left']> =>
  org_id === undefined
    ? null
    : (await recordsLeft(log, org_id, action)).map(({ ring, before }) => ({
        ring,
        before: before.toISOString(),
      }));

const linesOf = (records: readonly StoredAuditRecord[]): string =>
  records.map((record) => `${JSON.stringify(shown(record))}\n`).join('');

const shown = ({
  version: _version,
  stream: _stream,
  sequence: _sequence,
  ...record
}: StoredAuditRecord): AuditEntry => record;

/** @throws {Refused} */
const rangeOf = (
  { action, organisation, since, until }: AuditExportQuery,
  caller: Caller,
): Omit<AuditRange, 'below'> => ({
  org_id: seenOrganisation(caller, organisation),
  action,
  since: since === undefined ? undefined : new Date(since),
  until: until === undefined ? undefined : new Date(until),
});

const POSITION = /^\d{0,15}\.\d{0,15}$/;
const isPosition = (text: string): boolean => POSITION.test(text);

/** The position in each stream, in their order; empty for its end. */
const cursorOf = (position: AuditPosition | undefined): string | null =>
  cursorAt(position && AUDIT_STREAMS.map((stream) => position[stream]?.toString() ?? '').join('.'));

const positionIn = (cursor: string | undefined): AuditPosition | undefined => {
  if (cursor === undefined) return undefined;
  const parts = decodeCursor(cursor).split('.');
  return Object.fromEntries(
    AUDIT_STREAMS.flatMap((stream, at) => (parts[at] ? [[stream, Number(parts[at])]] : [])),
  );
};

/** Whether a record is about these; what is left out does not matter. */
const isOf =
  ({ key_id, user_id, target }: AuditExportQuery) =>
  ({ actor, target: { id } }: Pick<AuditRecord, 'actor' | 'target'>): boolean =>
    (key_id === undefined || (actor.kind === 'key' && actor.key_id === key_id)) &&
    (user_id === undefined ||
      ((actor.kind === 'key' || actor.kind === 'session') && actor.user_id === user_id)) &&
    (target === undefined || id === target);
