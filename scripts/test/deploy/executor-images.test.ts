import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readCompose, servicesOf } from './read-compose.ts';
import { execForm, imageOf, readDockerfile, valuesOf } from './read-dockerfile.ts';
import { manifestOf, members, ROOT } from './workspaces.ts';

const FOLDER = 'examples/executor-images';
const EXAMPLES = globSync(`${FOLDER}/*/Dockerfile`, { cwd: ROOT }).toSorted();
const page = readFileSync(join(ROOT, FOLDER, 'README.md'), 'utf8');
const IMAGE = `runledger/gpu-executor:${manifestOf('services/gpu-executor').version}`;
const ours = imageOf(readDockerfile('services/gpu-executor/Dockerfile'), 'executor').steps;

describe.each(EXAMPLES)('%s', (file) => {
  const { base, steps } = imageOf(readDockerfile(file));
  const folder = dirname(file);

  it('begins with the executor that docker compose build makes, or copies it', () => {
    expect([base, ...steps.map(({ from }) => from)]).toContain(IMAGE);
  });

  it('lets the user of the executor read what it copies', () => {
    const copies = steps.filter(({ keyword, from }) => keyword === 'COPY' && from !== IMAGE);
    expect(copies.filter(({ chmod }) => chmod !== '0755')).toEqual([]);
  });

  it('ends as the user of the executor', () => {
    expect(steps.findLast(({ keyword }) => keyword === 'USER')?.text).toBe('1000:1000');
  });

  it('is the executor of the compose file beside it', () => {
    const services = servicesOf(readCompose(join(folder, 'docker-compose.yml')));
    expect([...services.keys()]).toEqual(['gpu-executor']);
    const { build } = members(services.get('gpu-executor'));
    expect(build).toMatchObject({ context: folder });
  });

  it('is shown on the page', () => {
    expect(page).toContain(`](${basename(folder)})`);
  });
});

describe('the example with a base of its own', () => {
  const { steps } = imageOf(readDockerfile(`${FOLDER}/cuda/Dockerfile`));

  it('has the settings of our image, which COPY does not copy', () => {
    expect(valuesOf(steps, 'ENV')).toMatchObject(valuesOf(ours, 'ENV'));
    expect(execForm(steps, 'ENTRYPOINT')).toEqual(execForm(ours, 'ENTRYPOINT'));
    const textOf = (all: typeof steps, keyword: string): string | undefined =>
      all.findLast((step) => step.keyword === keyword)?.text;
    for (const keyword of ['HEALTHCHECK', 'STOPSIGNAL', 'EXPOSE', 'WORKDIR', 'USER'])
      expect([keyword, textOf(steps, keyword)]).toEqual([keyword, textOf(ours, keyword)]);
  });
});

describe('the first example on the page', () => {
  it('is the Dockerfile that was tried', () => {
    const text = readFileSync(join(ROOT, FOLDER, 'program/Dockerfile'), 'utf8');
    const shown = /```dockerfile\n([^]*?)```/.exec(page)?.[1];
    expect(text.endsWith(shown ?? 'nothing')).toBe(true);
  });
});
