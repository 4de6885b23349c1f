import { Type, type Static } from 'typebox';
import { AuditAction, AUDIT_RINGS, type AuditRing } from '../audit-actions.ts';
import { AuditRecord } from '../audit-record.ts';
import { enumInWords } from '../schemas.ts';
import {
  KeyUuid,
  OrganisationUuid,
  UserUuid,
  Cursor,
  NextCursor,
  PageLimit,
  time,
  TimeOrDay,
} from './fields.ts';

const { version: _stored, ...members } = AuditRecord.properties;

export const AuditEntry = Type.Object(
  {
    ...members,
    time: time('When the broker stored the record.'),
  },
  { title: 'AuditEntry', description: 'A record of an action.' },
);
export type AuditEntry = Static<typeof AuditEntry>;

// The keys of the table are the rings.
const RING_WORDS = Object.fromEntries(
  Object.entries(AUDIT_RINGS).map(([ring, { means }]) => [ring, means]),
) as Record<AuditRing, string>;

const filters = {
  action: Type.Optional({
    ...AuditAction,
    description: `Only records of this action. ${AuditAction.description}`,
  }),
  organisation: Type.Optional({
    ...OrganisationUuid,
    description:
      'Only records of this organisation. Needs the scope `operator`, unless it is that of the key.',
  }),
  key_id: Type.Optional({ ...KeyUuid, description: 'Only what was done with this API key.' }),
  user_id: Type.Optional({ ...UserUuid, description: 'Only what was done with a key of this user.' }),
  target: Type.Optional(
    Type.String({
      maxLength: 256,
      description: 'The id of what it was done to, such as that of a key.',
      examples: ['01a21460-0004-7000-8000-000000000004'],
    }),
  ),
  since: Type.Optional({ ...TimeOrDay, description: 'Only records that were stored at this time or later.' }),
  until: Type.Optional({ ...TimeOrDay, description: 'Only records that were stored before this time.' }),
};

export const AuditExportQuery = Type.Object(filters);
export type AuditExportQuery = Static<typeof AuditExportQuery>;

export const AuditQuery = Type.Object({
  ...filters,
  limit: Type.Optional(PageLimit),
  cursor: Type.Optional(Cursor),
});

export type AuditQuery = Static<typeof AuditQuery>;

export const AuditPage = Type.Object(
  {
    records: Type.Array(AuditEntry, { description: 'Newest first.' }),
    left: Type.Union(
      [
        Type.Array(
          Type.Object({
            ring: enumInWords(RING_WORDS, { description: 'Which records.' }),
            before: time('All records of this kind since then are here. Older ones may have left.'),
          }),
          {
            description:
              'Of which of the wanted records older ones may have left before their age, because the organisation, or all together, made more than are kept. Empty when all are here.',
          },
        ),
        Type.Null(),
      ],
      { description: 'Null for the records of all organisations, where it is not looked for.' },
    ),
    next_cursor: NextCursor,
  },
  { title: 'AuditPage', description: 'A page of records of actions.' },
);
export type AuditPage = Static<typeof AuditPage>;
