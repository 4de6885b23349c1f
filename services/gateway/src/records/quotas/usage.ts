import { Usage, type Resource, type ResourceUsage } from '@runledger/contracts/http/usage';
import { operation, route, type Route } from '../../door/operation.ts';
import type { Quotas } from './quotas.ts';

const usageOperation = operation({
  id: 'getUsage',
  method: 'GET',
  path: '/usage',
  tag: 'Organisation',
  summary: 'Read what the organisation uses, and what it may use',
  description:
    'All organisations share the stores of this installation, and each may use its part of them. The limits of `uploads` and `streams` are of each gateway.',
  scope: 'runs:read',
  request: {},
  response: { status: 200, description: 'Each resource with what is used of it.', body: Usage },
  refusals: [],
});

export const usageRoute = (quotas: Quotas): Route =>
  route(usageOperation, async (_request, { org_id }) => {
    const usage = async (resource: Resource, unit: ResourceUsage['unit']): Promise<ResourceUsage> => {
      const { used, limit } = quotas[resource];
      return { used: (await used(org_id)) ?? null, limit, unit };
    };
    const [queued_runs, catalogue_records, schedules, workflow_bytes, blob_bytes, output_bytes, ...others] =
      await Promise.all([
        usage('queued_runs', 'runs'),
        usage('catalogue_records', 'records'),
        usage('schedules', 'schedules'),
        usage('workflow_bytes', 'bytes'),
        usage('blob_bytes', 'bytes'),
        usage('output_bytes', 'bytes'),
        usage('files', 'files'),
        usage('file_bytes', 'bytes'),
        usage('uploads', 'uploads'),
        usage('streams', 'streams'),
      ]);
    const [files, file_bytes, uploads, streams] = others;
    return {
      queued_runs,
      catalogue_records,
      schedules,
      workflow_bytes,
      blob_bytes,
      output_bytes,
      files,
      file_bytes,
      uploads,
      streams,
    };
  });
