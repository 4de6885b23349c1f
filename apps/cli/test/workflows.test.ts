import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { catalogueOf, publish } from './a-catalogue.ts';
import type { Catalogue } from './a-catalogue.ts';
import { aRealGateway } from './a-real-gateway.ts';
import type { RealGateway } from './a-real-gateway.ts';
import { temporaryFolder } from './run-cli.ts';

let gateway: RealGateway;
let catalogue: Catalogue;
beforeAll(async () => {
  gateway = await aRealGateway();
  catalogue = catalogueOf(gateway);
});
afterAll(() => gateway[Symbol.asyncDispose]());

describe('runledger workflows', () => {
  it('publishes versions of files and of standard input, and lists them', async () => {
    const workflow = await catalogue.aWorkflow();
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'workflow.json'), '{"kind": "fractal"}');
    writeFileSync(join(cwd, 'inputs.json'), '[{"name": "size", "type": "integer", "required": true}]');
    const first = await gateway.cli(publish(workflow, '--file', 'workflow.json', '--inputs', 'inputs.json'), {
      cwd,
    });
    expect(first).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/number +1\n.*\ninputs +size\*\n/),
    });
    expect(first.stderr).toContain('runledger deployments update DEPLOYMENT --version');
    expect(
      await catalogue.json(publish(workflow, '--file', '-'), { stdin: '{"kind": "other"}' }),
    ).toMatchObject({
      number: 2,
      workflow: { kind: 'other' },
      inputs: [],
    });
    const { stdout } = await gateway.cli(['workflows', 'versions', workflow.id]);
    expect(stdout).toMatch(/^ID .*INPUTS\n\S{36} {2}2 .*\n\S{36} {2}1 .* size\*\n$/);
  });

  it('renames, archives and restores a workflow', async () => {
    const { id } = await catalogue.aWorkflow();
    expect(await catalogue.json(['workflows', 'rename', id, 'faces'])).toMatchObject({ name: 'faces' });
    expect(await catalogue.json(['workflows', 'archive', id])).toMatchObject({ archived: true });
    expect(await catalogue.json(['workflows', 'restore', id])).toMatchObject({ archived: false });
    expect((await gateway.cli(['workflows', 'list'])).stdout).toMatch(/^ID .*NAME\n(?:.*\n)*.* faces\n/);
  });

  it.each([
    ['missing.json', undefined, 'there is no such file'],
    ['folder', undefined, 'it is a folder'],
    ['broken.json', undefined, 'broken.json holds no JSON: '],
    ['latin.json', undefined, 'latin.json holds no JSON: it is not UTF-8.'],
    ['large.json', undefined, 'large.json has more than 4 MiB'],
    ['-', '', 'standard input is empty'],
    ['-', JSON.stringify('a'.repeat(600_000)), 'The request is too large (The workflow may have at most'],
  ])('explains what is wrong with %s', async (file, stdin, sentence) => {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'folder'));
    writeFileSync(join(cwd, 'broken.json'), '{"a": \u001B}');
    writeFileSync(join(cwd, 'latin.json'), Buffer.from([0x22, 0xe9, 0x22]));
    writeFileSync(join(cwd, 'large.json'), 'a'.repeat(4 * 1024 * 1024 + 1));
    const workflow = await catalogue.aWorkflow();
    const person = stdin === undefined ? { cwd } : { cwd, stdin };
    const result = await gateway.cli(publish(workflow, '--file', file), person);
    expect(result).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(sentence) });
    expect(result.stderr).not.toContain('\u001B');
  });
});
