"""What the rules say."""

from ssptool.rules.pages import catalogue_page as catalogue_page
from ssptool.rules.pages import rule_list as rule_list
from ssptool.rules.pages import rule_page as rule_page
