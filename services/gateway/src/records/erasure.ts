import { Erasure, type Organisation } from '@runledger/contracts/catalogue/records';
import { EraseQuery, OrganisationPath, OrganisationTombstone } from '@runledger/contracts/http/organisations';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { openBucket, type Entry } from '@runledger/event-log/streams/bucket';
import { operation, route, type Route } from '../door/operation.ts';
import { found, Refused } from '../door/refusal.ts';
import { changeRecord } from './catalogue/records.ts';
import type { Kit } from '../kit.ts';

const shared = { tag: 'Organisation', scope: 'operator' } as const;

const eraseOperation = operation({
  ...shared,
  id: 'eraseOrganisation',
  method: 'DELETE',
  path: '/organisations/{org_id}',
  summary: 'Erase an organisation',
  description:
    'Erases everything of an organisation, and cannot be undone. Its API keys and the tokens made with them are refused within seconds, its runs are cancelled and deleted, and then its files, logs, workflows, records and signing secrets go. The facts of its runs, which include inputs and outputs of up to 4 KiB, are shown to nobody and leave the log with its age, after 7 days by default. What stays is the tombstone, and the audit records for their year. Repeating the request, with any name, shows the tombstone.',
  audit: { action: 'organisation.erased', target: 'org_id', installation: true },
  request: { path: OrganisationPath, query: EraseQuery },
  response: {
    status: 200,
    description: 'The erasure was requested, now or before.',
    body: OrganisationTombstone,
  },
  refusals: [404, 409],
});

const tombstoneOperation = operation({
  ...shared,
  id: 'getOrganisationTombstone',
  method: 'GET',
  path: '/organisations/{org_id}/tombstone',
  summary: 'Read what the erasure of an organisation erased',
  description: 'When and by whom it was requested, and whether it is complete. It is kept for ever.',
  request: { path: OrganisationPath },
  response: { status: 200, description: 'The erasure was requested.', body: OrganisationTombstone },
  refusals: [404],
});

export const erasureRoutes = (
  { now }: Kit,
  erasures: ErasureRecords,
  findOrganisation: (id: string) => Promise<Organisation | undefined>,
): Route[] => [
  route(eraseOperation, async ({ path: { org_id }, query: { name } }, caller) => {
    const before = await erasures.find(org_id);
    if (before) return shown(before.value);
    if (caller.org_id === org_id)
      throw new Refused({
        code: 'own_organisation',
        why: 'This API key belongs to the organisation, and would be revoked with it: erase it with an operator key of another organisation',
      });
    const organisation = found(await findOrganisation(org_id), 'Organisation');
    if (organisation.name !== name)
      throw new Refused({
        code: 'organisation_name_differs',
        why: 'The organisation has another name. Nothing was erased: check its id, and give its name as it is',
      });
    const requested_by = { org_id: caller.org_id, user_id: caller.user_id, key_id: caller.key.id };
    return shown(
      await erasures.begin({
        org_id,
        requested_at: now().toISOString(),
        requested_by,
        quiet_at: null,
        erased_at: null,
        erases: { keys: 0, runs: 0, files: 0 },
      }),
    );
  }),
  route(tombstoneOperation, async ({ path: { org_id } }) => {
    return shown(found(await erasures.find(org_id), 'Tombstone').value);
  }),
];

const shown = ({ quiet_at: _quiet, erased_at, ...erasure }: Erasure): OrganisationTombstone => ({
  ...erasure,
  state: erased_at === null ? 'erasing' : 'erased',
  erased_at,
});

/** The erasures of organisations, which are never removed. Every method may throw LogUnavailable. */
export interface ErasureRecords {
  find(org_id: string): Promise<Entry<Erasure> | undefined>;
  /** Stores a new one, or finds the one that was requested before. */
  begin(erasure: Erasure): Promise<Erasure>;
  /** `change` is pure: it is called again when the record was changed meanwhile. */
  change(org_id: string, change: (present: Erasure) => Erasure): Promise<void>;
  /** The next one behind a revision, in the order of their last changes. */
  readonly next: (behind: number) => Promise<Entry<Erasure> | undefined>;
}

const KIND = 'erasures';
const keyOf = (org_id: string): string => `${KIND}.${org_id}`;

export const erasureRecords = (log: EventLog): ErasureRecords => {
  const records = openBucket(log, 'CATALOGUE', Erasure);
  return {
    find: (org_id) => records.get(keyOf(org_id)),
    begin: async (erasure) => {
      const key = keyOf(erasure.org_id);
      await records.create(key, erasure);
      return (await records.get(key))?.value ?? erasure;
    },
    change: async (org_id, change) => {
      await changeRecord(records, keyOf(org_id), async (present) => ({
        kind: 'changed',
        record: change(present),
      }));
    },
    next: (behind) => records.next(KIND, behind),
  };
};
