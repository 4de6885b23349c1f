import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serveInputs, type ServedInputs } from '../../../src/runners/model-server/serve-inputs.ts';

let inputDir: string;
let served: ServedInputs;
const NAMES = ['voice.npz', 'red fox #1 100%.png', 'größe.safetensors', 'empty.txt', 'list/a.png'];

beforeAll(async () => {
  inputDir = await mkdtemp(join(tmpdir(), 'served-'));
  await mkdir(join(inputDir, 'list'));
  for (const name of NAMES) await writeFile(join(inputDir, name), name === 'empty.txt' ? '' : `<${name}>`);
  await writeFile(join(inputDir, 'other.txt'), 'not an input of the run');
  served = await serveInputs(inputDir, NAMES);
});

afterAll(async () => {
  await served[Symbol.asyncDispose]();
  await rm(inputDir, { recursive: true });
});

describe('the files of a run that a model server fetches', () => {
  it('have URLs that end in their names, and come whole', async () => {
    for (const name of NAMES) {
      const url = served.urlOf(name);
      expect(decodeURIComponent(new URL(url).pathname.split('/').at(-1) ?? '')).toBe(
        name.replace('list/', ''),
      );
      const answer = await fetch(url);
      expect([answer.status, await answer.text()]).toEqual([200, name === 'empty.txt' ? '' : `<${name}>`]);
    }
  });

  it('have their type and size', async () => {
    const { headers } = await fetch(served.urlOf('red fox #1 100%.png'), { method: 'HEAD' });
    expect(headers.get('content-type')).toBe('image/png');
    expect(headers.get('content-length')).toBe('21');
    const unknown = await fetch(served.urlOf('größe.safetensors'), { method: 'HEAD' });
    expect([unknown.status, unknown.headers.get('content-type')]).toEqual([200, 'application/octet-stream']);
  });

  it('come in parts', async () => {
    const part = await fetch(served.urlOf('voice.npz'), { headers: { range: 'bytes=1-5' } });
    expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([
      206,
      'bytes 1-5/11',
      'voice',
    ]);
    const beyond = await fetch(served.urlOf('voice.npz'), { headers: { range: 'bytes=99-' } });
    expect([beyond.status, await beyond.text()]).toEqual([416, '']);
  });

  it.each([
    ['a file beside them', () => served.urlOf('other.txt')],
    [
      'a path out of the folder',
      () => served.urlOf('voice.npz').replace('voice.npz', '..%2F..%2Fetc%2Fpasswd'),
    ],
    ['their folder', () => new URL('.', served.urlOf('voice.npz')).href],
    ['another secret', () => served.urlOf('voice.npz').replace(/[^/]{43}/, 'A'.repeat(43))],
    ['no secret', () => new URL('/voice.npz', served.urlOf('voice.npz')).href],
  ])('are all there is: %s is not found', async (_what, url) => {
    const answer = await fetch(url());
    expect([answer.status, await answer.text()]).toEqual([404, '']);
  });

  it('are only read', async () => {
    for (const method of ['PUT', 'POST', 'DELETE']) {
      const answer = await fetch(served.urlOf('voice.npz'), { method });
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    }
  });

  it('have other URLs in each run, and none after it', async () => {
    const other = await serveInputs(inputDir, ['voice.npz']);
    const url = other.urlOf('voice.npz');
    expect(new URL(url).pathname).not.toBe(new URL(served.urlOf('voice.npz')).pathname);
    expect(await (await fetch(url)).text()).toBe('<voice.npz>');
    await other[Symbol.asyncDispose]();
    await expect(fetch(url)).rejects.toThrow('fetch failed');
  });
});
