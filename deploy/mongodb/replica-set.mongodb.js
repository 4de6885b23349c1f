// Run by mongosh: makes a replica set of the one server and the gateway's user. Done again, it changes only the password.
const { readFileSync } = require('node:fs');

const secretNamed = (name) => readFileSync(`/run/secrets/${name}`, 'utf8').trim();

db.getSiblingDB('admin').auth('root', secretNamed('mongodb-root-password'));

try {
  rs.status();
} catch (error) {
  if (error.codeName !== 'NotYetInitialized') throw error;
  rs.initiate({ _id: 'rs0', members: [{ _id: 0, host: 'mongodb:27017' }] });
}
while (!db.hello().isWritablePrimary) sleep(200);

const runledger = db.getSiblingDB('runledger');
// dbAdmin for the index that removes old runs: how long they are kept may change.
const gateway = {
  pwd: secretNamed('mongodb-password'),
  roles: [
    { role: 'readWrite', db: 'runledger' },
    { role: 'dbAdmin', db: 'runledger' },
  ],
};
if (runledger.getUser('gateway') === null) runledger.createUser({ user: 'gateway', ...gateway });
else runledger.updateUser('gateway', gateway);
print('The replica set has a primary, and the gateway its user.');
