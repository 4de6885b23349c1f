import type { Erasure, Organisation } from '@runledger/contracts/catalogue/records';
import { EraseQuery, OrganisationPath, OrganisationTombstone } from '@runledger/contracts/http/organisations';
import { operation, route, type Route } from '../http/operation.ts';
import { notFound, Refused } from '../http/refusal.ts';
import type { ErasureRecords } from '../catalogue/store/erasure-records.ts';

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

export interface ErasureRoutes {
  readonly erasures: ErasureRecords;
  readonly findOrganisation: (id: string) => Promise<Organisation | undefined>;
  readonly now: () => Date;
}

export const erasureRoutes = ({ erasures, findOrganisation, now }: ErasureRoutes): Route[] => [
  route(eraseOperation, async ({ path: { org_id }, query: { name } }, caller) => {
    const before = await erasures.find(org_id);
    if (before) return shown(before.value);
    if (caller.org_id === org_id)
      throw new Refused({
        code: 'own_organisation',
        why: 'This API key belongs to the organisation, and would be revoked with it: erase it with an operator key of another organisation',
      });
    const organisation = await findOrganisation(org_id);
    if (!organisation) throw notFound('Organisation');
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
    const erasure = await erasures.find(org_id);
    if (!erasure) throw notFound('Tombstone');
    return shown(erasure.value);
  }),
];

const shown = ({ quiet_at: _quiet, erased_at, ...erasure }: Erasure): OrganisationTombstone => ({
  ...erasure,
  state: erased_at === null ? 'erasing' : 'erased',
  erased_at,
});
