import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aRealGateway, type RealGateway } from '../fixtures/real-gateway.ts';

const SIZE = 20_000_000;
const bytes = randomBytes(SIZE);

let gateway: RealGateway;
let folder: string;
let path: string;
beforeAll(async () => {
  gateway = await aRealGateway();
  folder = mkdtempSync(join(tmpdir(), 'runledger-files-'));
  path = join(folder, 'photo.png');
  writeFileSync(path, bytes);
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await gateway[Symbol.asyncDispose]();
});

/** The version defines none of these inputs. */
const withoutWarnings = (stderr: string): string => stderr.replaceAll(/^Warning: unknown input .*\n/gm, '');

describe('files', () => {
  it('are uploaded, shown and deleted', async () => {
    const put = await gateway.cli(['files', 'put', path]);
    expect([put.code, put.stderr]).toEqual([0, '']);
    const id = put.stdout.trim();
    expect(await gateway.read(`/files/${id}`)).toMatchObject({
      filename: 'photo.png',
      content_type: 'image/png',
      bytes: SIZE,
      sha256: createHash('sha256').update(bytes).digest('hex'),
    });
    const again = await gateway.cli(['files', 'put', path, '--json']);
    expect(JSON.parse(again.stdout)).toMatchObject({ id });
    expect((await gateway.cli(['files', 'show', id])).stdout).toContain(
      `photo.png, image/png, ${SIZE} bytes`,
    );
    const lines = (await gateway.cli(['files', 'list'])).stdout.split('\n');
    expect(lines[1]).toMatch(new RegExp(`^${id}  ${SIZE} +20\\d\\d-\\S+  photo\\.png$`));
    expect((await gateway.cli(['files', 'delete', id])).code).toBe(0);
    expect(await gateway.cli(['files', 'show', id])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('File not found'),
    });
  });

  it('that do not exist, or are folders, are named with what to do', async () => {
    const missing = await gateway.cli(['files', 'put', join(folder, 'missing.png')]);
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('the file does not exist') });
    const aFolder = await gateway.cli(['files', 'put', folder]);
    expect(aFolder).toMatchObject({ code: 2, stderr: expect.stringContaining('is not a regular file') });
  });

  it('that are given under one name are a list, in their order, and so is one with [] after it', async () => {
    for (const name of ['a.png', 'b.png']) writeFileSync(join(folder, name), name);
    const file = (name: string): string => `@${join(folder, name)}`;
    const given = [`frames=${file('b.png')}`, `frames=${file('a.png')}`, `one[]=${file('a.png')}`];
    const others = [
      'mixed[]=https://pictures.example/c.png',
      `mixed[]=${file('a.png')}`,
      'size=32',
      'size=64',
    ];
    const options = [...given, ...others].flatMap((input) => ['--input', input]);
    const queued = await gateway.cli(['queue', '--deployment', gateway.deployment_id, ...options]);
    expect([queued.code, withoutWarnings(queued.stderr)]).toEqual([0, '']);
    const { workflow_inputs } = await gateway.read(`/run/${queued.stdout.trim()}?include=inputs`);
    const [b, a] = workflow_inputs.frames;
    expect(workflow_inputs).toMatchObject({
      frames: [b, a],
      one: [a],
      mixed: ['https://pictures.example/c.png', a],
      size: 64,
    });
    expect((await gateway.read(`/files/${b}`)).filename).toBe('b.png');
    expect((await gateway.read(`/files/${a}`)).filename).toBe('a.png');
  });

  it('are uploaded for an input @PATH; a quoted text is a text', async () => {
    writeFileSync(join(folder, 'small.png'), 'x');
    const photo = `photo=@${join(folder, 'small.png')}`;
    const queued = await gateway.cli([
      'queue',
      '--deployment',
      gateway.deployment_id,
      '--input',
      photo,
      '--input',
      'note="@home"',
    ]);
    expect([queued.code, withoutWarnings(queued.stderr)]).toEqual([0, '']);
    const run = await gateway.read(`/run/${queued.stdout.trim()}?include=inputs`);
    expect(run.workflow_inputs.note).toBe('@home');
    expect(await gateway.read(`/files/${run.workflow_inputs.photo}`)).toMatchObject({
      filename: 'small.png',
    });
  });
});
