import { expect, it } from 'vitest';
import { startService, type ServiceTestBed } from './service-test-bed.ts';

const DEPLOYMENTS = ['01920000-0000-7000-8000-0000000000d1', '01920000-0000-7000-8000-0000000000d2'];
const OTHER_ORG = '01920000-0000-7000-8000-0000000000ab';

const textOf = async (
  service: ServiceTestBed,
  program: string,
  deployment_id = DEPLOYMENTS[0],
  org_id?: string,
): Promise<unknown> => {
  const { run } = await service.assign(program, deployment_id === undefined ? {} : { deployment_id }, org_id);
  const { data } = await service.fact(run, 'RunSucceeded');
  return 'outputs' in data ? data.outputs?.[0]?.data['text'] : undefined;
};

it('a run finds what an earlier one of its deployment kept, and nothing of another deployment or organisation', async ({
  skip,
}) => {
  await using service = await startService();
  const first = await textOf(service, 'cached');
  if (JSON.stringify(first) === '[""]') return skip('caches are below the home folder of this user');
  expect(first).toEqual(['empty']);
  expect(await textOf(service, 'cached')).toEqual(['kept']);
  expect(await textOf(service, 'cached', DEPLOYMENTS[1])).toEqual(['empty']);
  expect(await textOf(service, 'cached', DEPLOYMENTS[0], OTHER_ORG)).toEqual(['empty']);
  expect(await textOf(service, 'cached')).toEqual(['kept']);
});

it('a run has the PATH of the user, the zone and the threads of its executor', async () => {
  const npm = '/srv/node_modules/.bin:/node_modules/.bin:/usr/lib/node_modules/npm/lib/node-gyp-bin';
  const env = { PATH: `${npm}:/usr/bin:/bin`, TZ: 'Asia/Tokyo', OMP_NUM_THREADS: '3' };
  await using service = await startService(env);
  expect(await textOf(service, 'inherited')).toEqual(['/usr/bin:/bin Asia/Tokyo 3']);
});
