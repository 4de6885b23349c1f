import { Usage } from '@runledger/contracts/http/usage';
import { operation, route, type Route } from '../http/operation.ts';
import type { Quotas } from './quotas.ts';

const usageOperation = operation({
  id: 'getUsage',
  method: 'GET',
  path: '/usage',
  tag: 'Usage',
  summary: 'Read what the organisation uses, and what it may use',
  description:
    'All organisations share the stores of this installation, and each may use its part of them. `queued_runs`: runs that wait for a slot. `catalogue_records`: machines, workflows, versions of workflows and deployments, archived ones included. `streams`: event streams and waiting reads that are open at the gateway that responds; the limit is of each gateway.',
  scope: 'runs:read',
  request: {},
  response: { status: 200, description: 'Each resource with what is used of it.', body: Usage },
  refusals: [],
});

export const usageRoute = ({ usage }: Pick<Quotas, 'usage'>): Route =>
  route(usageOperation, async (_request, { org_id }) => usage(org_id));
