import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { gzipSync, zstdDecompressSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { noPart } from '../../../src/transfer/input-file.ts';
import type { FetchUrl } from '../../../src/transfer/fetch-url.ts';
import { archiveOf, codeFetcherOf, manifestOf, openCode, uv, wheelOf } from '../../code/versions.ts';
import { closedFolderAbove } from '../../../src/view/real-paths.ts';
import { ownUser } from '../../../src/isolation/users.ts';
import { isolationNamed, ORG_ID, OTHER_ORG_ID } from '../../fixtures/isolations.ts';
import { temporaryFolder } from '../../runners/program/run-a-program.ts';

const ATTACKS = readFileSync(join(import.meta.dirname, 'versions/attacks.py'), 'utf8');
const BACKEND = readFileSync(join(import.meta.dirname, 'versions/backend.py'), 'utf8');

/** A source distribution that executes this while it is installed. Its backend is its own, so nothing else is needed. */
const sourceDistribution = async (targets: object): Promise<Buffer> => {
  const { bytes } = await archiveOf({
    'hostile-1.0/PKG-INFO': 'Metadata-Version: 2.1\nName: hostile\nVersion: 1.0\n',
    'hostile-1.0/pyproject.toml':
      '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n[project]\nname = "hostile"\nversion = "1.0"\n',
    'hostile-1.0/backend.py': BACKEND,
    'hostile-1.0/attacks.py': ATTACKS,
    'hostile-1.0/targets.json': JSON.stringify(targets),
  });
  return gzipSync(zstdDecompressSync(bytes));
};

const MODEL = Buffer.from('weights');
const MODELS = {
  'w.bin': { url: 'https://example.com/w', sha256: createHash('sha256').update(MODEL).digest('hex') },
};
const fetchModel: FetchUrl = async (_url, { path, part = noPart() }) => {
  await writeFile(path, MODEL);
  part.hash.update(MODEL);
  part.bytes += MODEL.byteLength;
  return { kind: 'fetched', bytes: MODEL.byteLength, filename: 'w', content_type: '' };
};

/** Whose each file is, and what is in it, by its path. */
const stateOf = (folder: string, below = ''): Record<string, string> =>
  Object.assign(
    {},
    ...readdirSync(join(folder, below), { withFileTypes: true }).map((entry): object => {
      const name = join(below, entry.name);
      const path = join(folder, name);
      const { mode, uid, gid } = lstatSync(path);
      const content = entry.isSymbolicLink()
        ? readlinkSync(path)
        : entry.isFile()
          ? readFileSync(path, 'base64')
          : '';
      const own = { [name]: `${mode.toString(8)} ${uid} ${gid} ${content}` };
      return entry.isDirectory() ? { ...own, ...stateOf(folder, name) } : own;
    }),
  );

/** Of the versions that are attacked: what is executed, read, or says that a folder is whole. */
const VICTIMS = /\/(?:calm\.py|main\.py|w\.bin|runledger_harness\.py|pyvenv\.cfg|[0-9a-f]{64}\.json)$/;

/** What became of each try. */
type Report = Readonly<Record<string, string>>;
interface Reports {
  readonly installing: Report;
  readonly running: Report;
}

const notHeld = (report: Report): string[] =>
  Object.entries(report).flatMap(([attack, became]) => (became === 'breached' ? [attack] : []));

const processesOf = (mark: string): string[] =>
  readdirSync('/proc').filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(mark);
    } catch {
      return false;
    }
  });

const CALM = `import calm, os

def say():
    with open(os.environ["RUNLEDGER_MODELS"] + "/w.bin") as file:
        return calm.WORD + " " + file.read()
`;
const HOSTILE = `import json, os, sys, attacks

def attack():
    own = [__file__, attacks.__file__, os.environ["RUNLEDGER_MODELS"] + "/w.bin", sys.modules["__main__"].__file__, sys.prefix + "/pyvenv.cfg"]
    return json.dumps({"installing": attacks.installing(), "running": attacks.on_files(own)})
`;

describe.skipIf(uv === null)('a hostile version', () => {
  it.for(['bubblewrap', 'landlock'] as const)(
    'changes nothing of what others have, nor of its own next run: %s',
    { timeout: 120_000 },
    async (name, { skip }) => {
      // Programs of another user do not get to a uv that is below a closed folder; bubblewrap shows it to them.
      const isClosed = name === 'landlock' && closedFolderAbove(uv ?? '') !== null;
      const isolation = await isolationNamed(name, isClosed ? ownUser : undefined);
      if (typeof isolation === 'string') return skip(isolation);
      const [wheelHouse, secrets] = [temporaryFolder(), temporaryFolder()];
      for (const folder of [wheelHouse, secrets]) chmodSync(folder, 0o755);
      const calm = wheelOf('calm', '1.0', 'WORD = "calm"\n');
      writeFileSync(join(wheelHouse, calm.filename), calm.bytes, { mode: 0o644 });
      vi.stubEnv('RUNLEDGER_TEST_PASSWORD', 'breached: a password');
      onTestFinished(() => void vi.unstubAllEnvs());
      const [secret, tool] = [join(secrets, 'secret'), join(secrets, 'tool')];
      writeFileSync(secret, 'breached: a secret', { mode: 0o644 });
      writeFileSync(tool, '#!/bin/sh\necho "breached: a tool"\n', { mode: 0o755 });
      let connections = 0;
      await using server = createServer((socket) => {
        connections += 1;
        socket.destroy();
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');

      const settings = { EXECUTOR_PYTHON_INDEX: 'none', EXECUTOR_WHEEL_HOUSE: wheelHouse };
      const { start, workFolder } = await openCode(settings, { isolation, fetchModel });
      const prepared = join(workFolder, 'prepared');
      let nth = 0;
      const versionOf = async (source: string, requirements: string, command?: string[]) => {
        const archive = await archiveOf({ 'main.py': source, 'requirements.txt': requirements });
        const [, of = ''] = /^def (\w+)/m.exec(source) ?? [];
        const how = command === undefined ? { run: `main.py:${of}`, max_runs: 1 } : { command };
        const manifest = manifestOf(archive, { ...how, requirements: 'requirements.txt', models: MODELS });
        const fetchCode = codeFetcherOf(archive);
        return async (org_id: string) => {
          const run = start(manifest, {
            fetchCode,
            org_id,
            workflow_version_id: archive.sha256,
            nth: (nth += 1),
          });
          return { result: await run.result, written: run.lines.map(({ line }) => line).join('\n') };
        };
      };
      const said = { outcome: 'succeeded', data: { text: ['calm weights'] } };
      const calmly = await versionOf(CALM, 'calm==1.0\n');
      for (const org_id of [ORG_ID, OTHER_ORG_ID]) {
        const { result, written } = await calmly(org_id);
        expect(result, written).toMatchObject(said);
      }

      const before = stateOf(prepared);
      const files = Object.keys(before).filter((path) => VICTIMS.test(path));
      const folders = Object.keys(before).filter((path) => path.split('/').length <= 2);
      const hidden = Object.keys(before).filter((path) => path.split('/').length === 3);
      expect([files.length, folders.length]).toEqual([2 * 10, 2 * 6]);
      const mark = `left-${randomUUID()}`;
      const targets = {
        secret,
        tool,
        mark,
        folders: [secrets, workFolder, prepared, ...folders.map((path) => join(prepared, path))],
        hidden: ['secret', OTHER_ORG_ID, ...hidden.map((path) => basename(path))],
        files: files.map((path) => join(prepared, path)),
        executor: process.pid,
        port: (server.address() as AddressInfo).port,
      };
      writeFileSync(join(wheelHouse, 'hostile-1.0.tar.gz'), await sourceDistribution(targets), {
        mode: 0o644,
      });
      const attack = await versionOf(HOSTILE, 'hostile==1.0\n');
      for (const time of ['first', 'second']) {
        const { result, written } = await attack(ORG_ID);
        expect(result, written).toMatchObject({ outcome: 'succeeded' });
        const report: Reports = JSON.parse(('data' in result && String(result.data['text'])) || '{}');
        const { installing, running } = report;
        const tries = [installing, running].map((each) => Object.keys(each).length);
        expect(tries, time).toEqual([7 * files.length + targets.folders.length + 4, 5 * 5]);
        expect([notHeld(installing), notHeld(running)], time).toEqual([[], []]);
        expect(stateOf(prepared)).toMatchObject(before);
      }
      expect([connections, processesOf(mark)]).toEqual([0, []]);

      const [environment = ''] = readdirSync(join(prepared, ORG_ID, 'environments'))
        .map((each) => join(prepared, ORG_ID, 'environments', each))
        .filter((each) => existsSync(join(each, 'bin/as-owner')));
      const { mode, uid } = lstatSync(join(environment, 'bin/as-owner'));
      expect([mode & 0o7777, uid]).toEqual([0o755, process.geteuid?.()]);
      const leak = await versionOf('', 'hostile==1.0\n', ['leak']);
      const leaked = await leak(ORG_ID);
      expect(leaked.result.outcome).toMatch(/failed|not_runnable/);
      expect(JSON.stringify(leaked)).not.toContain('breached');

      for (const org_id of [ORG_ID, OTHER_ORG_ID]) {
        const { result, written } = await calmly(org_id);
        expect(result, written).toMatchObject(said);
      }
    },
  );
});
