/** A text in the configuration of nats-server. Names, subjects and paths hold no quotes, line ends or backslashes: others are refused. @throws TypeError */
export const quoted = (value: string): string => {
  if (!/^[\x20-\x7E]+$/.test(value) || /["\\]/.test(value)) {
    throw new TypeError(`${JSON.stringify(value)} cannot be written into the configuration of a broker.`);
  }
  return `"${value}"`;
};
