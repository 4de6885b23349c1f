import { newUuid, orgId } from '@runledger/contracts/ids';
import { expect, it } from 'vitest';
import { webhookListQuery, runListQuery, type RunQuery } from '../../src/views/list-query.decide.ts';

const org_id = orgId(newUuid());
const all = { deploymentId: newUuid(), workflowId: newUuid(), gpu: 'H100' } as const;

it.each<[string[], Partial<RunQuery>]>([
  [[], {}],
  [['gpu'], { gpu: 'H100' }],
  [['origin', 'gpu'], { gpu: 'H100', origin: 'replay' }],
  [['gpu', 'origin'], { gpu: 'H100', origin: 'api' }],
  [['status', 'deployment_id'], { deploymentId: all.deploymentId, statuses: ['queued', 'running'] }],
  [['deployment_id', 'status'], { deploymentId: all.deploymentId, statuses: ['queued', 'failed'] }],
  [['tags', 'tags', 'deployment_id'], { deploymentId: all.deploymentId, tags: ['a', 'b'] }],
  [['status', 'tags'], { tags: ['a'], statuses: ['queued'] }],
  [['status', 'gpu'], { gpu: 'H100', statuses: ['failed', 'queued'] }],
  [['gpu', 'status'], { gpu: 'H100', statuses: ['failed', 'success'] }],
  [
    ['deployment_id', 'workflow_id', 'origin', 'status', 'gpu'],
    { ...all, statuses: ['failed'], origin: 'manual' },
  ],
  [
    ['deployment_id', 'workflow_id', 'gpu', 'origin', 'status'],
    { ...all, statuses: ['success'], origin: 'api' },
  ],
])('reads the list by the index of the first condition: %j', (fields, query) => {
  const listed = runListQuery({ org_id, limit: 1, ...query });
  expect(listed.conditions.map(({ field }) => field)).toEqual(fields);
});

it('reads runs with a webhook by the index of the host when the query names one', () => {
  const fieldsOf = (host?: string) =>
    webhookListQuery({ org_id, limit: 1, statuses: ['failed'], ...(host ? { host } : {}) }).conditions.map(
      ({ field }) => field,
    );
  expect(fieldsOf()).toEqual(['webhook_status']);
  expect(fieldsOf('a.example')).toEqual(['webhook_host', 'webhook_status']);
});
