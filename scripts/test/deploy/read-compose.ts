import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { members, ROOT } from './workspaces.ts';

export type Compose = Readonly<Record<string, unknown>>;

/** A compose file read with an empty environment: variables have their defaults, anchors are merged. */
export const readCompose = (file: string): Compose => {
  let text = readFileSync(join(ROOT, file), 'utf8');
  // From the inside out, because a default may contain another variable.
  for (let inner = ''; inner !== text;) {
    inner = text;
    text = text.replaceAll(/\$\{\w+:-([^${}]*)\}/g, '$1');
  }
  const ignored = { tag: '!reset', resolve: (): null => null };
  const replacing = (['seq', 'map'] as const).map((collection) => ({
    tag: '!override',
    collection,
    resolve: (value: unknown): unknown => value,
  }));
  const customTags = [ignored, ...replacing];
  const read: unknown = parse(text.replaceAll('$$', '$'), { merge: true, customTags });
  return members(read);
};

export type Service = Readonly<Record<string, unknown>>;

export const servicesOf = (compose: Compose): Map<string, Service> =>
  new Map(Object.entries(members(compose['services'])).map(([name, service]) => [name, members(service)]));

/** The services of a second file that extend one of the first, with what they have from there. What is a list, they replace. */
export const extendedServicesOf = (second: Compose, first: Compose): Map<string, Service> =>
  new Map(
    [...servicesOf(second)].flatMap(([name, own]) => {
      const base = servicesOf(first).get(String(members(own['extends'] ?? {})['service']));
      if (base === undefined) return [];
      const environment = { ...environmentOf(base), ...environmentOf(own) };
      return [[name, { ...base, ...own, environment }] as const];
    }),
  );

/** The names of the secrets that a service gets. */
export const secretsOf = (service: Service): string[] => {
  const list = service['secrets'] ?? [];
  if (!Array.isArray(list)) throw new TypeError('secrets is not a list');
  return list.map((secret: unknown) =>
    typeof secret === 'string' ? secret : String(members(secret)['source']),
  );
};

/** The environment of a service, as text. */
export const environmentOf = (service: Service): Record<string, string> =>
  Object.fromEntries(
    Object.entries(members(service['environment'] ?? {})).map(([name, value]) => [name, String(value)]),
  );

export const listOf = (service: Service, member: string): string[] => {
  const list = service[member] ?? [];
  if (!Array.isArray(list)) throw new TypeError(`${member} is not a list`);
  return list.map(String);
};
