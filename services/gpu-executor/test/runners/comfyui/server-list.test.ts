import { describe, expect, it } from 'vitest';
import { readServers } from '../../../src/runners/comfyui/comfy-server.ts';

const URL = 'http://127.0.0.1:8188';

describe('EXECUTOR_COMFYUI', () => {
  it('is empty, or has one server for each slot, which writes where it runs', async () => {
    expect(await readServers('[]', '', 3)).toEqual({ ok: true, servers: [] });
    const read = await readServers(
      JSON.stringify([
        { url: URL },
        { url: 'https://gpu.example/comfy', command: 'sh', args: ['-c', 'x'], cwd: '/srv' },
      ]),
      '/bin',
      2,
    );
    expect(read.ok && read.servers.map(({ url, command }) => [url.href, command])).toEqual([
      [`${URL}/`, null],
      [
        'https://gpu.example/comfy/',
        {
          command: '/bin/sh',
          args: ['-c', 'x'],
          env: {},
          cwd: '/srv',
          writable: ['/srv'],
          path: '/bin',
        },
      ],
    ]);
  });

  it.each([
    ['{}', 1, 'is not a JSON list'],
    ['nothing', 1, 'is not a JSON list'],
    [[1], 1, 'has the server 0, which is not an object'],
    [[{ url: 'ftp://gpu.example' }], 1, 'has the server 0, whose url'],
    [[{ url: 'http://me:secret@gpu.example' }], 1, 'has the server 0, whose url'],
    [[{ url: URL, command: 'no-such-command' }], 1, 'has the server 0, whose command no-such-command'],
    [[{ url: URL }, { url: `${URL}/` }], 2, 'names a server twice'],
    [[{ url: URL }], 2, 'has 1 servers, and this executor has 2 slots'],
  ])('is wrong as %j for %i slots', async (setting, slots, wrong) => {
    const text = typeof setting === 'string' ? setting : JSON.stringify(setting);
    const read = await readServers(text, '/bin', slots);
    expect(read.ok ? [] : read.problems).toEqual([
      {
        variable: 'EXECUTOR_COMFYUI',
        wrong: expect.stringContaining(wrong),
        right: expect.stringContaining('one server for each slot'),
      },
    ]);
  });
});
