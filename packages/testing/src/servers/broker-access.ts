/** How a test reaches a broker. */
export interface BrokerAccess {
  readonly url: string;
  readonly port: number;
  /** For `openEventLog`. */
  readonly login: BrokerLogin;
  /** For a process of ours. */
  readonly env: Readonly<Record<string, string>>;
}

export interface BrokerLogin {
  readonly url: string;
  readonly user?: string;
  readonly password?: string;
}

export const brokerAccess = (login: BrokerLogin): BrokerAccess => ({
  url: login.url,
  port: Number(new URL(login.url).port),
  login,
  env: {
    NATS_URL: login.url,
    ...(login.user === undefined ? {} : { NATS_USER: login.user }),
    ...(login.password === undefined ? {} : { NATS_PASSWORD: login.password }),
  },
});
