import { Type } from 'typebox';

/** The environment variable of the console: to spread into the configuration schema. */
export const consoleConfig = {
  RUNLEDGER_CONSOLE: Type.String({
    default: 'off',
    minLength: 1,
    description:
      'the folder with the built files of the console, which is served under /console; off for no console',
  }),
};
