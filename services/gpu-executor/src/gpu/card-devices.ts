import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** NVIDIA, AMD and Intel: what a driver of a graphics card makes. */
const CARD = /^(?:nvidia.*|dri|kfd|dxg)$/;

/** The devices of all graphics cards of the machine. */
export const cardDevices = (): readonly string[] =>
  readdirSync('/dev')
    .filter((name) => CARD.test(name))
    .map((name) => join('/dev', name));

/** The groups that may use them where not everybody may. Never that of root. */
export const cardGroups = (): readonly number[] => {
  const devices = cardDevices().flatMap((path) =>
    statSync(path).isDirectory() ? readdirSync(path).map((name) => join(path, name)) : [path],
  );
  const groups = devices.map((path) => statSync(path)).filter(({ mode }) => (mode & 0o006) !== 0o006);
  return [...new Set(groups.map(({ gid }) => gid))].filter((gid) => gid !== 0);
};
