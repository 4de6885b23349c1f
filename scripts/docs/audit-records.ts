/** Audit records, and the part of docs/events.md about them. */
import { AUDIT_ACTIONS } from '@runledger/contracts/audit/audit-actions';
import { AuditRecord } from '@runledger/contracts/audit/audit-record';
import { servicesThat, type MessageDescription } from './message-descriptions.ts';
import { code } from './schema-tables.ts';

export const AUDIT_MESSAGE: MessageDescription = {
  name: 'AuditRecord',
  stream: 'AUDIT',
  subject: 'audit.<org_id or installation>.<action>.<stage>',
  about:
    "who did what: `requested` before the action, and `completed` after it, with the same `id`; also written by who has the operator's credentials",
  schema: AuditRecord,
  writers: servicesThat(({ audit }) => audit),
  readers: servicesThat(({ audit }) => audit),
};

export const auditPart = (): string[] => [
  '## Audit records',
  '',
  `Who did what: in the stream AUDIT, under ${code(AUDIT_MESSAGE.subject)}, which is not fenced. The gateway writes them, and`,
  `who has the operator's credentials. Members: ${Object.keys(AuditRecord.properties).map(code).join(', ')}. \`requested\` is stored before the action,`,
  'and `completed` after it, with the same `id`. The third column says what happens when a record cannot be stored.',
  '',
  '| action | means | without a record |',
  '|---|---|---|',
  ...Object.entries(AUDIT_ACTIONS).map(
    ([action, { means, withoutRecord }]) => `| ${code(action)} | ${means} | ${withoutRecord} |`,
  ),
  '',
];
