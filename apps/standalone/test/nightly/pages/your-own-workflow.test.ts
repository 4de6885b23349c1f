import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureCog } from '@runledger/local-servers/cog';
import { freePort } from '@runledger/local-servers/free-port';
import { describe, expect, it } from 'vitest';
import { pageOf, partsOf, replayed, withoutProgress, type Part } from '../../fixtures/pages/session.ts';
import { startStandalone } from '../../fixtures/start-standalone.ts';
import { temporaryFolder } from '../../fixtures/temporary-folder.ts';

const ROOT = fileURLToPath(new URL('../../../../..', import.meta.url));
const page = join(ROOT, 'docs', 'your-own-workflow.md');
/** After a change of what the screen shows: writes the answers into the page instead of comparing them. */
const writes = process.env['RUNLEDGER_WRITE_DOCS'] === '1';

const sectionOf = (heading: string): string => {
  const sections = readFileSync(page, 'utf8').split(/^(?=## )/m);
  const section = sections.find((text) => text.startsWith(`## ${heading}\n`));
  if (section === undefined) throw new Error(`The page has no section ${heading}.`);
  return section;
};

const startsIt = (part: Part): boolean => part.kind === 'commands' && part.text.endsWith('npm start\n');

/** The settings of the executor that the first terminal has when it says `npm start`. */
const settingsOf = (start: string, home: string): Record<string, string> => {
  const { stdout } = spawnSync('bash', ['--norc', '-c', `npm() { env -0; }\n${start}`], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], HOME: home },
    encoding: 'utf8',
  });
  const all = stdout.split('\0').map((entry) => /^(EXECUTOR_\w+)=(.*)$/s.exec(entry));
  return Object.fromEntries(all.flatMap((entry) => (entry ? [[String(entry[1]), String(entry[2])]] : [])));
};

interface Newcomer {
  /** Where the page puts files. */
  readonly home: string;
  /** What is different about the settings in a test. */
  readonly adjust?: (settings: Record<string, string>) => Record<string, string>;
}

/** A section as it would be written now. */
const followed = async (
  section: string,
  { home, adjust = (settings) => settings }: Newcomer,
): Promise<string> => {
  const parts = partsOf(section);
  const at = parts.findIndex(startsIt);
  const start = parts[at];
  if (start?.kind !== 'commands') throw new Error('The section does not say how it is started.');
  const before = await replayed(parts.slice(0, at), { folder: ROOT, env: { HOME: home } });
  await using standalone = await startStandalone({ env: adjust(settingsOf(start.text, home)) });
  const { dataFolder, url } = standalone;
  const env = { HOME: home, RUNLEDGER_DATA_DIR: dataFolder };
  const after = await replayed(parts.slice(at + 1), { folder: ROOT, env });
  return pageOf([...before, start, ...after])
    .replaceAll(dataFolder, '/home/you/runledger/.runledger')
    .replaceAll(home, '/home/you')
    .replaceAll(new URL(url).host, '127.0.0.1:8080');
};

const expectAsDescribed = async (heading: string, newcomer: Newcomer): Promise<void> => {
  const section = sectionOf(heading);
  const now = await followed(section, newcomer);
  if (writes)
    writeFileSync(
      page,
      readFileSync(page, 'utf8').replace(section, () => now),
    );
  else expect(withoutProgress(now)).toBe(withoutProgress(section));
};

describe('the page about your own workflow shows what happens with', () => {
  it.each(['A folder', 'A program for each run', 'A program that stays loaded'])(
    '%s',
    { timeout: 240_000 },
    async (heading) => expectAsDescribed(heading, { home: temporaryFolder() }),
  );

  it('A Cog model', { timeout: 600_000 }, async () => {
    const home = temporaryFolder();
    const readable = await putCog(join(home, 'caption', 'venv', 'bin', 'python'));
    const own = `127.0.0.1:${await freePort()}`;
    const adjust = ({ EXECUTOR_COG = '', ...rest }: Record<string, string>): Record<string, string> => ({
      ...rest,
      EXECUTOR_COG: EXECUTOR_COG.replace('127.0.0.1:5000', own).replace(
        '"command"',
        `"readable": ${JSON.stringify(readable)}, "command"`,
      ),
    });
    await expectAsDescribed('A Cog model', { home, adjust });
  });
});

/** In place of the virtual environment that the page installs. What it consists of lies elsewhere. */
const putCog = async (command: string): Promise<readonly string[]> => {
  const { python, env } = await ensureCog({ env: process.env });
  mkdirSync(dirname(command), { recursive: true });
  writeFileSync(command, `#!/bin/sh\nPYTHONPATH='${env['PYTHONPATH']}' exec '${python}' "$@"\n`, {
    mode: 0o755,
  });
  return [`${env['PYTHONPATH']}`, dirname(dirname(realpathSync(python)))];
};
