import { Type } from 'typebox';
import { oneOf, port, seconds } from './config-schemas.ts';
import { HEALTH_TOKEN_PATTERN } from './health-token.ts';
import { LOG_LEVELS, type LogLevel } from './logger.ts';
import { tracingConfig } from './tracing-config.ts';

export const healthToken = Type.Optional(
  Type.String({
    secret: true,
    pattern: HEALTH_TOKEN_PATTERN,
    description:
      'who sends it to the health server may read the metrics, and the reasons of /readyz: 32 to 255 characters; nobody may if it is not set',
  }),
);

/** The environment variables of every service, to spread into its configuration schema. */
export const serviceConfig = ({
  healthPort,
}: {
  readonly healthPort: number;
}): {
  RUNLEDGER_HEALTH_HOST: Type.TString;
  RUNLEDGER_HEALTH_PORT: Type.TInteger;
  RUNLEDGER_HEALTH_TOKEN: Type.TOptional<Type.TString>;
  RUNLEDGER_LOG_LEVEL: Type.TEnum<LogLevel[]>;
  RUNLEDGER_STOP_WITHIN_S: Type.TNumber;
} & typeof tracingConfig => ({
  RUNLEDGER_HEALTH_HOST: Type.String({
    default: '127.0.0.1',
    description: 'where the health server listens',
  }),
  RUNLEDGER_HEALTH_PORT: port({
    default: healthPort,
    description: 'the port of the health server; 0 takes a free one',
  }),
  RUNLEDGER_HEALTH_TOKEN: healthToken,
  RUNLEDGER_LOG_LEVEL: oneOf([...LOG_LEVELS], {
    default: 'info',
    description: 'the lowest level that is logged',
  }),
  RUNLEDGER_STOP_WITHIN_S: seconds({
    default: 10,
    minimum: 1,
    description: 'the time limit of a stop; running work gets about half of it',
  }),
  ...tracingConfig,
});
