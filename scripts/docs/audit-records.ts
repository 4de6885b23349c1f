/** Audit records, and the part of docs/events.md about them. */
import {
  AUDIT_RINGS,
  AUDIT_RING_NAMES,
  AUDIT_STREAMS,
  auditStreamOf,
  AUDIT_ACTIONS,
} from '@runledger/contracts/audit-actions';
import { AuditRecord } from '@runledger/contracts/audit-record';
import { servicesThat, type MessageDescription } from './message-descriptions.ts';
import { code } from './schema-lists.ts';

export const AUDIT_MESSAGE: MessageDescription = {
  name: 'AuditRecord',
  stream: AUDIT_STREAMS.join(' or '),
  subject: 'audit.<org_id or installation>.<ring>',
  about:
    "who did what: `requested` before the action, and `completed` after it, with the same `id`; also written by who has the operator's credentials",
  schema: AuditRecord,
  writers: servicesThat(({ audit }) => audit),
  readers: servicesThat(({ audit }) => audit),
};

export const auditPart = (): string[] => [
  '## Audit records',
  '',
  `Who did what: in the streams ${AUDIT_STREAMS.join(' and ')}, under ${code(AUDIT_MESSAGE.subject)}, which is not fenced. The gateway writes them, and`,
  `who has the operator's credentials. Members: ${Object.keys(AuditRecord.properties).map(code).join(', ')}. \`requested\` is stored before the action,`,
  'and `completed` after it, with the same `id`. Each organisation has each ring, of a fixed number of records: the next one makes the oldest of its ring leave.',
  '',
  '| ring | stream | holds |',
  '|---|---|---|',
  ...AUDIT_RING_NAMES.map(
    (ring) => `| ${code(ring)} | ${auditStreamOf(ring)} | ${AUDIT_RINGS[ring].means} |`,
  ),
  '',
  'The ring of an action has what may have taken effect. The last column says what happens when a record cannot be stored.',
  '',
  '| action | means | ring | without a record |',
  '|---|---|---|---|',
  ...Object.entries(AUDIT_ACTIONS).map(
    ([action, { means, ring, withoutRecord }]) =>
      `| ${code(action)} | ${means} | ${code(ring)} | ${withoutRecord} |`,
  ),
  '',
];
