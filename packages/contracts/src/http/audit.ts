import { Type, type Static } from 'typebox';
import { AuditAction } from '../audit/audit-actions.ts';
import { AuditRecord } from '../audit/audit-record.ts';
import { nullable } from './fields/optional.ts';
import { Cursor, NextCursor, PageLimit, Time, TimeOrDay, Uuid } from './fields/values.ts';

const { version: _stored, ...members } = AuditRecord.properties;

export const AuditEntry = Type.Object(
  {
    ...members,
    id: { ...Uuid, description: 'Both records of an action have it.' },
    stage: {
      ...members.stage,
      description:
        '`requested`: stored before the action is carried out. `completed`: stored after it. A `requested` without its `completed` may have taken effect.',
    },
    action: AuditAction,
    org_id: nullable(Uuid),
    outcome: {
      ...members.outcome,
      description:
        'Null in a `requested` record. `unknown`: the request failed, and may or may not have taken effect.',
    },
    time: { ...Time, description: 'When the broker stored the record.' },
  },
  { title: 'AuditEntry' },
);
export type AuditEntry = Static<typeof AuditEntry>;

const filters = {
  action: Type.Optional(AuditAction),
  organisation: Type.Optional({
    ...Uuid,
    description: 'Needs the scope `operator`, unless it is that of the key.',
  }),
  key_id: Type.Optional({ ...Uuid, description: 'Done with this API key.' }),
  user_id: Type.Optional({ ...Uuid, description: 'Done with a key of this user.' }),
  target: Type.Optional(
    Type.String({ maxLength: 256, description: 'The id of what it was done to, such as that of a key.' }),
  ),
  since: Type.Optional({ ...TimeOrDay, description: 'Stored at this time or later.' }),
  until: Type.Optional({ ...TimeOrDay, description: 'Stored before this time.' }),
};

export const AuditExportQuery = Type.Object(filters);
export type AuditExportQuery = Static<typeof AuditExportQuery>;

export const AuditQuery = Type.Object({
  ...filters,
  limit: Type.Optional(PageLimit),
  cursor: Type.Optional(Cursor),
});

export const AuditPage = Type.Object(
  { records: Type.Array(AuditEntry, { description: 'Newest first.' }), next_cursor: NextCursor },
  { title: 'AuditPage' },
);
export type AuditPage = Static<typeof AuditPage>;
