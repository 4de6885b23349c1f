import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { aCatalogue } from '../fixtures/real-catalogue.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

const { cli, json, aWorkflow, publish } = aCatalogue();

describe('runledger workflows', () => {
  it('publishes versions from files and standard input, and lists them', async () => {
    const workflow = await aWorkflow();
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'workflow.json'), '{"kind": "fractal"}');
    writeFileSync(join(cwd, 'inputs.json'), '[{"name": "size", "type": "integer", "required": true}]');
    const first = await cli(publish(workflow, '--file', 'workflow.json', '--inputs', 'inputs.json'), {
      cwd,
      terminal: { columns: 120 },
    });
    expect(first).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/number +1\n.*\ninputs +size\*\n/),
    });
    expect(first.stderr).toContain('runledger deployments update DEPLOYMENT --version');
    expect(await json(publish(workflow, '--file', '-'), { stdin: '{"kind": "other"}' })).toMatchObject({
      number: 2,
      workflow: { kind: 'other' },
      inputs: [],
    });
    const { stdout } = await cli(['workflows', 'versions', workflow.id]);
    expect(stdout).toMatch(/^ID .*INPUTS\n\S{36} {2}2 .*\n\S{36} {2}1 .* size\*\n$/);
  });

  it('renames, archives and restores a workflow', async () => {
    const { id } = await aWorkflow();
    expect(await json(['workflows', 'rename', id, 'faces'])).toMatchObject({ name: 'faces' });
    expect(await json(['workflows', 'archive', id])).toMatchObject({ archived: true });
    expect(await json(['workflows', 'restore', id])).toMatchObject({ archived: false });
    expect((await cli(['workflows', 'list'])).stdout).toMatch(/^ID .*NAME\n(?:.*\n)*.* faces\n/);
  });

  it.each([
    ['missing.json', undefined, 'the file does not exist'],
    ['folder', undefined, 'it is a folder'],
    ['broken.json', undefined, 'broken.json cannot be used: it is not valid JSON'],
    ['latin.json', undefined, 'latin.json cannot be used: it is not UTF-8.'],
    ['large.json', undefined, 'large.json has more than 4 MiB'],
    ['-', '', 'standard input is empty'],
    ['-', JSON.stringify('a'.repeat(600_000)), 'The request is too large: The workflow may have at most'],
  ])('explains the problem with %s', async (file, stdin, sentence) => {
    const cwd = temporaryFolder();
    mkdirSync(join(cwd, 'folder'));
    writeFileSync(join(cwd, 'broken.json'), '{"a": \u001B}');
    writeFileSync(join(cwd, 'latin.json'), Buffer.from([0x22, 0xe9, 0x22]));
    writeFileSync(join(cwd, 'large.json'), 'a'.repeat(4 * 1024 * 1024 + 1));
    const workflow = await aWorkflow();
    const person = stdin === undefined ? { cwd } : { cwd, stdin };
    const result = await cli(publish(workflow, '--file', file), person);
    expect(result).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(sentence) });
    expect(result.stderr).not.toContain('\u001B');
  });
});
