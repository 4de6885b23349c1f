import { expect, it } from 'vitest';
import { archiveOf, manifestOf } from '../../code/versions.ts';
import { sha256Of } from '../../fixtures/assigned-run.ts';
import { startService } from './service-test-bed.ts';

it('an executor that accepts code fetches that of a version, runs it, and says which it was', async () => {
  await using service = await startService({ EXECUTOR_CODE: 'all' });
  expect(service.registered.programs).toContain('runner:code');
  const script = `#!/bin/sh\necho '{"output": {"text": ["from code"]}}'\n`;
  const archive = await archiveOf({ 'run.sh': script });
  const workflow = JSON.stringify(manifestOf(archive, { command: ['./run.sh'] }));
  service.gateway.assignment = { workflow };
  service.gateway.code = { bytes: archive.bytes, headers: { etag: `"${archive.sha256}"` } };
  const assign = (): ReturnType<typeof service.assign> =>
    service.assign('quiet', { runner: { kind: 'code' }, workflow_sha256: sha256Of(workflow) });
  const { run } = await assign();
  expect(await service.fact(run, 'RunSucceeded')).toMatchObject({
    data: { outputs: [{ data: { text: ['from code'] } }] },
  });
  expect(await service.fact(run, 'RunStarted')).toMatchObject({ data: { code_sha256: archive.sha256 } });

  service.gateway.code = undefined;
  const again = await assign();
  expect(await service.fact(again.run, 'RunSucceeded')).toBeDefined();
  expect(service.gateway.fetches.filter((name) => name === 'code')).toHaveLength(1);
});
