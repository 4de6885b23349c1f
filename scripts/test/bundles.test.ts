import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';

const SCRIPTS = join(import.meta.dirname, '..');
/** Says what it is made of. */
const MAKER = `
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../node24.mjs';
const source = join(root, 'main.ts');
writeFileSync(join(process.argv[2], 'main.mjs'), 'console.log("bundle of", ' + JSON.stringify(readFileSync(source, 'utf8')) + ')');
console.log(JSON.stringify([source]));
`;
const START = `
import { runProgram } from './scripts/run-program.mjs';
await runProgram(import.meta.dirname + '/main.ts', []);
`;
const INSTALLED = 'node_modules/.package-lock.json';

interface Repository {
  readonly write: (file: string, content: string) => void;
  readonly start: () => Promise<{ readonly stdout: string; readonly stderr: string }>;
  /** How many folders of bundles there are. */
  readonly bundles: () => number;
}

/** The scripts that start a program, with a program of one file, and what bundles it. */
const aRepository = ({ maker = MAKER } = {}): Repository => {
  const folder = mkdtempSync(join(tmpdir(), 'runledger-bundles-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const write = (file: string, content: string): void => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), content);
  };
  for (const name of ['build/bundles.mjs', 'build/cached-build.mjs', 'node24.mjs', 'run-program.mjs'])
    cpSync(join(SCRIPTS, name), join(folder, 'scripts', name));
  write('scripts/build/make-bundles.mjs', maker);
  write('start.mjs', START);
  write('main.ts', "console.log('source')");
  write(INSTALLED, '{}');
  return {
    write,
    start: () => promisify(execFile)(process.execPath, [join(folder, 'start.mjs')], { env: {} }),
    bundles: () =>
      readdirSync(join(folder, 'node_modules/.cache/runledger-bundles'), { withFileTypes: true }).filter(
        (entry) => entry.isDirectory(),
      ).length,
  };
};

describe('a program', () => {
  it('starts from its bundle, which is made once', async () => {
    const { start, bundles } = aRepository();
    expect((await start()).stdout).toBe("bundle of console.log('source')\n");
    expect((await start()).stdout).toBe("bundle of console.log('source')\n");
    expect(bundles()).toBe(1);
  });

  it('is bundled again when its source has changed', async () => {
    const { start, write } = aRepository();
    await start();
    write('main.ts', "console.log('changed')");
    expect((await start()).stdout).toBe("bundle of console.log('changed')\n");
  });

  it('is bundled again when other packages are installed', async () => {
    const { start, write, bundles } = aRepository();
    await start();
    write(INSTALLED, '{"packages": {}}');
    await start();
    expect(bundles()).toBe(2);
  });

  it('starts from source where it cannot be bundled, which is said', async () => {
    const { start } = aRepository({ maker: "throw new Error('no bundler')" });
    const { stdout, stderr } = await start();
    expect(stdout).toBe('source\n');
    expect(stderr).toContain('Starting from source, which takes longer: the bundles cannot be made.');
    expect(stderr).toContain('no bundler');
  });
});
