/** What programs expect to find wherever they run. */
const SURROUNDINGS = [
  'PATH',
  'HOME',
  'LANG',
  'LC_ALL',
  'TZ',
  'TMPDIR',
  'NODE_EXTRA_CA_CERTS',
  'LD_LIBRARY_PATH',
];

/**
 * The environment of one service: the surroundings, the settings that the service itself knows by name as the
 * person gave them, and ours, which win. A service sees no other service's credentials.
 */
export const serviceEnvironment = (
  given: NodeJS.ProcessEnv,
  settings: readonly string[],
  ours: Readonly<Record<string, string>>,
): Record<string, string> => {
  const chosen: Record<string, string> = {};
  for (const name of [...SURROUNDINGS, ...settings]) {
    const value = given[name];
    if (value !== undefined) chosen[name] = value;
  }
  return { ...chosen, ...ours };
};
