"""Which addresses a webhook may reach."""

import ipaddress

import pytest

from cronfleet.adapters.targets.addresses import may_reach, networks

PUBLIC = ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]

NOT_PUBLIC = {
    "this network": "0.0.0.0",  # noqa: S104 - an address to refuse, none to bind
    "this network, not its first": "0.1.2.3",
    "private 10": "10.1.2.3",
    "shared, behind carriers": "100.64.0.1",
    "loopback": "127.0.0.1",
    "loopback, another": "127.9.9.9",
    "link-local: instance metadata": "169.254.169.254",
    "container credentials": "169.254.170.2",
    "private 172": "172.16.0.1",
    "protocol assignments": "192.0.0.1",
    "documentation": "192.0.2.1",
    "6to4 relay": "192.88.99.1",
    "private 192": "192.168.1.1",
    "benchmarks": "198.18.0.1",
    "multicast": "224.0.0.1",
    "reserved": "240.0.0.1",
    "broadcast": "255.255.255.255",
    "IPv6 unspecified": "::",
    "IPv6 loopback": "::1",
    "IPv6 unique local: instance metadata": "fd00:ec2::254",
    "IPv6 unique local": "fc00::1",
    "IPv6 link-local": "fe80::1",
    "IPv6 site-local": "fec0::1",
    "IPv6 multicast": "ff02::1",
    "IPv6 documentation": "2001:db8::1",
    "IPv6 documentation, the newer": "3fff::1",
    "IPv6 discard": "100::1",
    "loopback, mapped": "::ffff:127.0.0.1",
    "private, mapped": "::ffff:10.0.0.1",
    "metadata, mapped": "::ffff:a9fe:a9fe",
    "loopback, IPv4-compatible": "::127.0.0.1",
    "loopback through 6to4": "2002:7f00:1::",
    "public through 6to4": "2002:101:101::",
    "Teredo": "2001:0:1::1",
    "loopback through NAT64": "64:ff9b::7f00:1",
    "metadata through NAT64": "64:ff9b::a9fe:a9fe",
    "local NAT64": "64:ff9b:1::1",
    "IPv4-translated": "::ffff:0:7f00:1",
    "segment routing": "5f00::1",
}


@pytest.mark.parametrize("text", PUBLIC)
def test_public_addresses_may_be_reached(text: str) -> None:
    assert may_reach(ipaddress.ip_address(text), ())


@pytest.mark.parametrize("text", NOT_PUBLIC.values(), ids=NOT_PUBLIC)
def test_what_is_not_the_public_internet_may_not(text: str) -> None:
    assert not may_reach(ipaddress.ip_address(text), ())


@pytest.mark.parametrize("text", ["10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "fd12::1"])
def test_an_installation_may_allow_networks_of_its_own(text: str) -> None:
    allowed = networks(["10.1.0.0/16", "fd12::/32"])
    assert may_reach(ipaddress.ip_address(text), allowed)
    assert not may_reach(ipaddress.ip_address("10.2.0.1"), allowed)


def test_a_network_that_is_none_is_named() -> None:
    with pytest.raises(ValueError, match=r"10\.0\.0\.0/99"):
        networks(["10.0.0.0/99"])
